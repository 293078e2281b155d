"""Uploads to the object storage of a cloud platform."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.callbacks.no_effect import NoEffect


@component("callback", "ObsMonitor", inert="only jobs on ModelArts have an object storage to upload to")
@dataclass(frozen=True, slots=True, kw_only=True)
class ObsMonitor(NoEffect):
    """Copy checkpoints and logs to an object storage while training."""

    src_dir: str | None = key("Folder to upload; output_dir where absent.", None)
    target_dir: str | None = key("Address in the object storage; remote_save_url where absent.", None)
    step_upload_frequence: int = key("Steps from one upload to the next; -1 for none.", 100, minimum=-1, unit="steps")
    epoch_upload_frequence: int = key("Epochs from one upload to the next; -1 for none.", -1, minimum=-1, unit="epochs")
    keep_last: bool = key("Keep only the newest checkpoint in the object storage.", True)
