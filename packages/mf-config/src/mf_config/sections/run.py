"""The whole run configuration: what a `run_xxx.yaml` may say at its top level."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mf_config.schema import EVAL_MODES, PREDICT_MODES, TRAIN_MODES, ComponentOf, key
from mf_config.sections.context import ContextSection
from mf_config.sections.dataset import DatasetSection, ProcessorSection
from mf_config.sections.model import ModelSection
from mf_config.sections.parallel import ParallelDegrees
from mf_config.sections.runner import RunnerSection, WrapperSection

_ANY_LAYOUT = "a checkpoint of any layout is cut for the present one while it is read"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """A decoded run configuration. Every key has its documented effect or is reported as having none."""

    seed: int = key("Seed of the first weights and of the order of rows.", 0, minimum=0)
    run_mode: Literal["train", "finetune", "eval", "predict"] = key("What the run does.", "train")
    output_dir: str = key("Folder of everything that the run writes; made if missing.", "./output")
    load_checkpoint: str | None = key("Checkpoint to start from: a checkpoint folder or a run's checkpoint root.", None)
    resume_training: bool = key(
        "Continue load_checkpoint (or the newest checkpoint of output_dir) with its optimizer state and step, instead "
        "of starting at step 0 with its weights.",
        False,
        modes=TRAIN_MODES,
    )
    auto_trans_ckpt: bool = key("Convert load_checkpoint to the present layout.", False, inert=_ANY_LAYOUT)
    input_data: str | tuple[str, ...] | None = key("The prompt, or a list of prompts.", None, modes=PREDICT_MODES)
    use_parallel: bool = key("Spread the run over the processes that the launcher started.", False)
    do_eval: bool = key("Evaluate before, during and after training.", False, modes=TRAIN_MODES)
    eval_step_interval: int = key(
        "Steps between evaluations while training; 0 or less for none in between.", 100, modes=TRAIN_MODES
    )
    context: ContextSection = key("The device and MindSpore's settings.", ContextSection())
    trainer: Annotated[Any, ComponentOf("trainer")] = key("The task: what turns a batch into a loss, chosen by type.")
    runner_config: RunnerSection = key("Length and batch of the run.", RunnerSection(), modes=TRAIN_MODES + EVAL_MODES)
    runner_wrapper: WrapperSection = key(
        "What guards a step: loss scale and clipping.", WrapperSection(), modes=TRAIN_MODES
    )
    parallel_config: ParallelDegrees = key("How many ranks each kind of parallelism takes.", ParallelDegrees())
    model: ModelSection = key("The network.")
    processor: ProcessorSection = key("Text to ids and back.", ProcessorSection())
    train_dataset: DatasetSection | None = key("The text to train on.", None, modes=TRAIN_MODES)
    train_dataset_task: Annotated[Any, ComponentOf("dataset")] | None = key(
        "How training text becomes rows, chosen by type.", None, modes=TRAIN_MODES
    )
    eval_dataset: DatasetSection | None = key("Held-out text.", None, modes=TRAIN_MODES + EVAL_MODES)
    eval_dataset_task: Annotated[Any, ComponentOf("dataset")] | None = key(
        "How held-out text becomes rows, chosen by type.", None, modes=TRAIN_MODES + EVAL_MODES
    )
    optimizer: Annotated[Any, ComponentOf("optimizer")] | None = key(
        "What moves the weights, chosen by type.", None, modes=TRAIN_MODES
    )
    lr_schedule: Annotated[Any, ComponentOf("lr_schedule")] | None = key(
        "The learning rate over the steps, chosen by type; the optimizer's own constant rate where absent.",
        None,
        modes=TRAIN_MODES,
    )
    callbacks: tuple[Annotated[Any, ComponentOf("callback")], ...] = key(
        "What happens beside the steps: logs, checkpoints.", (), modes=TRAIN_MODES
    )
    metric: Annotated[Any, ComponentOf("metric")] | tuple[Annotated[Any, ComponentOf("metric")], ...] | None = key(
        "What an evaluation computes: one section or a list of them.", None, modes=TRAIN_MODES + EVAL_MODES
    )

    @property
    def metrics(self) -> tuple[Any, ...]:
        """The metric sections, however many the file has."""
        if self.metric is None:
            return ()
        return self.metric if isinstance(self.metric, tuple) else (self.metric,)

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts of `input_data`, however many the file has."""
        if self.input_data is None:
            return ()
        return self.input_data if isinstance(self.input_data, tuple) else (self.input_data,)
