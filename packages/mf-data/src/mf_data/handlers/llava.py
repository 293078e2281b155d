"""Records of the LLaVA data set."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.handlers.base import InstructionKeys


@component("data_handler", "LlavaInstructDataHandler", pending="images are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlavaInstructDataHandler(InstructionKeys):
    """Conversations about images."""

    image_dir: str | None = key("Folder of the images.", None)
