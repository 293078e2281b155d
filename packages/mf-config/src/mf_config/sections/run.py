"""The whole run configuration: what a `run_xxx.yaml` may say at its top level."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mf_config.schema import EVAL_MODES, PREDICT_MODES, TRAIN_MODES, ComponentOf, key
from mf_config.sections.context import ContextSection
from mf_config.sections.dataset import DatasetSection
from mf_config.sections.memory import RecomputeSection, SwapSection
from mf_config.sections.model import ModelSection
from mf_config.sections.moe import MoeSection
from mf_config.sections.observation import MonitorSection, TensorboardSection
from mf_config.sections.parallel import ParallelDegrees, ParallelSection
from mf_config.sections.runner import RunnerSection, WrapperSection
from mf_config.sections.schedules import GroupedScheduleSection

_ANY_LAYOUT = "a checkpoint of any layout is cut for the present one while it is read"
_STEP_FOUND = "resume_training finds the step in the checkpoint"
_KEPT = "activations are kept; the result is the same"
_OPERATORS_ALONE = "operators alone are measured, collectives among them"
_VISION = "language models never read it"
_SAME_BITS = "runs on CPU give the same bits always"
_ON_THE_COMMAND_LINE = "mf-infer generate has an option for it"
_TRAIN_EVAL = TRAIN_MODES + EVAL_MODES
_EVAL_PREDICT = EVAL_MODES + PREDICT_MODES
_IN_EVALUATIONS: dict[str, Any] = {"modes": _TRAIN_EVAL, "needs": "do_eval", "needs_in": TRAIN_MODES}


@dataclass(frozen=True, slots=True, kw_only=True)
class InferSection:
    """`infer`: graph files of a back end that is no more."""

    prefill_model_path: str = key("Graph of the prompt.", "")
    increment_model_path: str = key("Graph of one more token.", "")
    infer_seq_length: int = key("Tokens of a sequence.", 1024, minimum=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """A decoded run configuration. Every key has its documented effect or is reported as having none."""

    # The run.
    seed: int = key("Seed of the first weights and of the order of rows.", 0, minimum=0)
    run_mode: Literal["train", "finetune", "eval", "predict"] = key("What the run does.", "train")
    output_dir: str = key("Folder of everything that the run writes; made if missing.", "./output")
    context: ContextSection = key("The device and MindSpore's settings.", ContextSection())
    trainer: Annotated[Any, ComponentOf("trainer")] = key(
        "The task: what turns a batch into a loss, chosen by type.", None
    )
    train_precision_sync: bool | None = key("Reproducible operators in training.", None, inert=_SAME_BITS)
    infer_precision_sync: bool | None = key("Reproducible operators in prediction.", None, inert=_SAME_BITS)

    # Checkpoints.
    load_checkpoint: str | None = key("Checkpoint to start from: a checkpoint folder or a run's checkpoint root.", None)
    resume_training: bool | str = key(
        "Continue load_checkpoint (or the newest checkpoint of output_dir) with its optimizer state and step, instead "
        "of starting at step 0 with its weights; a name says which checkpoint of the folder.",
        False,
        modes=TRAIN_MODES,
    )
    auto_trans_ckpt: bool = key(
        "Load a checkpoint that is cut for another layout; otherwise it is refused with the command that converts it.",
        False,
        modes=_TRAIN_EVAL,
    )
    src_strategy_path_or_dir: str | None = key(
        "MindSpore's strategy file, or a folder of them, that says how the rank_N folders of load_checkpoint are cut; "
        "the folder strategy beside them where it is not set.",
        None,
    )
    dst_strategy_path_or_dir: str | None = key("Layout to convert to, a file or folder.", None, inert=_ANY_LAYOUT)
    load_ckpt_format: Literal["ckpt", "safetensors"] = key(
        "File format of load_checkpoint.", "ckpt", inert="the format is seen in the files"
    )
    transform_process_num: int = key("Processes that convert a checkpoint.", 1, minimum=1, inert=_ANY_LAYOUT)
    transform_by_rank: bool = key("Convert for one rank after the other.", False, inert=_ANY_LAYOUT)
    npu_num_per_node: int = key("Devices of one host, for the conversion.", 8, minimum=1, inert=_ANY_LAYOUT)
    remove_redundancy: bool = key(
        "Whether load_checkpoint has each slice only once.", False, inert="the layout of the files says it"
    )
    only_save_strategy: bool = key(
        "Write the layout of the parameters to layout.json in output_dir, and stop.", False, modes=TRAIN_MODES
    )
    resume_by_last_timestamp_ckpt: bool = key("Resume the newest file.", False, inert=_STEP_FOUND)
    ignore_data_skip: bool = key(
        "Begin the rows anew when training resumes; otherwise they go on where they stopped.", False, modes=TRAIN_MODES
    )
    data_skip_steps: int | None = key("Steps whose rows are skipped.", None, minimum=0, inert=_STEP_FOUND)
    remote_save_url: str | None = key(
        "Folder in an object store to which each checkpoint is copied, such as s3://bucket/run; text that is no "
        "address is noted and does nothing.",
        None,
        modes=TRAIN_MODES,
    )
    push_to_hub: bool = key("Upload the trained model.", False, inert="nothing is uploaded")

    # Length, step and layout.
    runner_config: RunnerSection = key("Length and batch of the run.", RunnerSection(), modes=_TRAIN_EVAL)
    runner_wrapper: WrapperSection = key(
        "What guards a step: loss scale and clipping.", WrapperSection(), modes=TRAIN_MODES
    )
    use_parallel: bool = key("Spread the run over the processes that the launcher started.", False)
    parallel: ParallelSection = key("MindSpore's parallelism.", ParallelSection(), needs="use_parallel")
    parallel_config: ParallelDegrees = key(
        "How many ranks each kind of parallelism takes.", ParallelDegrees(), needs="use_parallel"
    )
    micro_batch_interleave_num: int = key(
        "Multiplies the batch by so many parts, which are differentiated one after another.",
        1,
        minimum=1,
        modes=TRAIN_MODES,
    )
    moe_config: MoeSection = key("Mixtures of experts.", MoeSection())
    recompute_config: RecomputeSection = key(
        "Activations that are computed again in the backward pass.", RecomputeSection(), modes=TRAIN_MODES
    )
    swap_config: SwapSection = key(
        "Activations that wait in the host's memory.", SwapSection(), inert=_KEPT, modes=TRAIN_MODES
    )

    # Model and text.
    model: ModelSection = key("The network.", ModelSection())
    processor: Annotated[Any, ComponentOf("processor", otherwise="BaseProcessor")] | None = key(
        "Text to ids and back.", None
    )
    train_dataset: DatasetSection | None = key("The text to train on.", None, modes=TRAIN_MODES)
    train_dataset_task: Annotated[Any, ComponentOf("dataset")] | None = key(
        "How training text becomes rows, chosen by type.", None, modes=TRAIN_MODES
    )
    eval_dataset: DatasetSection | None = key("Held-out text.", None, **_IN_EVALUATIONS)
    eval_dataset_task: Annotated[Any, ComponentOf("dataset")] | None = key(
        "How held-out text becomes rows, chosen by type.", None, **_IN_EVALUATIONS
    )

    # Optimizer.
    optimizer: Annotated[Any, ComponentOf("optimizer")] | None = key(
        "What moves the weights, chosen by type.", None, modes=TRAIN_MODES
    )
    lr_schedule: Annotated[Any, ComponentOf("lr_schedule")] | None = key(
        "The learning rate over the steps, chosen by type; the optimizer's own constant rate where absent.",
        None,
        modes=TRAIN_MODES,
    )
    grouped_lr_schedule: GroupedScheduleSection | None = key(
        "Learning rates of groups of parameters.", None, modes=TRAIN_MODES
    )
    layer_scale: bool = key(
        "Let rates fall from block to block towards the input: the embedding has the least, the head the whole rate.",
        False,
        modes=TRAIN_MODES,
    )
    layer_decay: float = key("Rate of a layer over that of the next.", 0.65, above=0, needs="layer_scale")
    lr_scale: bool = key(
        "Multiply the rate of each update by the rows of a step over lr_scale_factor.",
        False,
        modes=TRAIN_MODES,
    )
    lr_scale_factor: int = key("Global batch that leaves the rate as it is.", 256, minimum=1, needs="lr_scale")

    # Beside the steps.
    callbacks: tuple[Annotated[Any, ComponentOf("callback")], ...] = key(
        "What happens beside the steps: logs, checkpoints.", (), modes=TRAIN_MODES
    )
    eval_callbacks: tuple[Annotated[Any, ComponentOf("callback")], ...] = key(
        "What happens beside the evaluation of run_mode eval.", (), modes=EVAL_MODES
    )
    do_eval: bool = key("Evaluate before, during and after training.", False, modes=TRAIN_MODES)
    eval_step_interval: int = key(
        "Steps between evaluations while training; 0 or less for none in between.",
        100,
        unit="steps",
        modes=TRAIN_MODES,
        needs="do_eval",
    )
    eval_epoch_interval: int = key(
        "Epochs between evaluations while training; 0 or less for none in between.",
        -1,
        unit="epochs",
        modes=TRAIN_MODES,
        needs="do_eval",
    )
    metric: Annotated[Any, ComponentOf("metric")] | tuple[Annotated[Any, ComponentOf("metric")], ...] | None = key(
        "What an evaluation computes: one section or a list of them.", None, **_IN_EVALUATIONS
    )
    auto_tune: bool = key(
        "Begin with one worker that prepares rows and take more, up to num_parallel_workers, while the run waits for "
        "them.",
        False,
        modes=_TRAIN_EVAL,
    )
    filepath_prefix: str = key(
        "Folder of the files that say how many workers were taken.", "./autotune", needs="auto_tune"
    )
    autotune_per_step: int = key(
        "Steps from one change of their number to the next.", 10, minimum=1, unit="steps", needs="auto_tune"
    )
    profile: bool = key("Time the operators of some steps, as the callback ProfileMonitor.", False, modes=TRAIN_MODES)
    profile_start_step: int = key("The first step to measure.", 1, minimum=1, unit="steps", needs="profile")
    profile_stop_step: int = key("The last step to measure.", 10, minimum=1, unit="steps", needs="profile")
    init_start_profile: bool = key("Measure from the first step, whatever profile_start_step.", False, needs="profile")
    profile_communication: bool = key(
        "Measure communication between devices as well.", False, needs="profile", inert=_OPERATORS_ALONE
    )
    profile_memory: bool = key("Measure memory as well.", True, needs="profile", inert=_OPERATORS_ALONE)
    profile_output: str | None = key(
        "Folder of the profile; profile in output_dir where absent.", None, needs="profile"
    )
    monitor_config: MonitorSection = key(
        "Norms and states that are recorded, and norms that stop the run.", MonitorSection(), modes=TRAIN_MODES
    )
    use_skip_data_by_global_norm: bool = key(
        "Leave out the updates of steps whose global norm is a spike by monitor_config.",
        False,
        modes=TRAIN_MODES,
        needs="monitor_config.monitor_on",
    )
    tensorboard: TensorboardSection = key("Event files for TensorBoard.", TensorboardSection(), modes=TRAIN_MODES)

    # Prediction.
    input_data: str | tuple[str, ...] | None = key(
        "The prompt, or a list of prompts; the name of a text file stands for its lines.", None, modes=PREDICT_MODES
    )
    predict_batch_size: int | None = key(
        "Prompts at once.", None, minimum=1, modes=PREDICT_MODES, inert="prompts are batched as they fit"
    )
    top_k: int | None = key(
        "Candidates of a classification.", None, minimum=1, modes=_EVAL_PREDICT, inert=_ON_THE_COMMAND_LINE
    )
    save_file: str | None = key(
        "File of the results as MindFormers writes them; text_generation_result.txt in output_dir where not given.",
        None,
        modes=PREDICT_MODES,
    )
    adapter_id: str | None = key(
        "Which adapter answers.", None, modes=PREDICT_MODES, pending="adapters are not served", runs=(None,)
    )
    infer: InferSection | None = key(
        "Graph files of MindSpore Lite.", None, inert="MindSpore Lite is not used", modes=PREDICT_MODES
    )

    def __post_init__(self) -> None:
        """Take the schedule of most parameters for that of the run; give the experts to the family.

        A file says how many experts there are beside its model, and the family of a model with experts may be another
        one.
        """
        if self.lr_schedule is None and self.grouped_lr_schedule is not None:
            object.__setattr__(self, "lr_schedule", self.grouped_lr_schedule.default)
        family = self.model.model_config
        if hasattr(family, "with_experts") and self.moe_config.expert_num > 1:
            family = family.with_experts(self.moe_config)
            object.__setattr__(self, "model", self.model.of_family(family))
        object.__setattr__(self, "moe_config", getattr(family, "moe_config", self.moe_config))

    @property
    def tokenizer(self) -> Any:
        """The tokenizer section of the processor, None where the file has none."""
        return None if self.processor is None else self.processor.tokenizer

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
