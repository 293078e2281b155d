"""Which overrides make a published run configuration a tiny one that runs on a CPU."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mf_config import RunConfig, examine, load
from mf_config.nodes import Mapping, Node, Scalar
from mf_config.problems import Problem, blockers_in, errors_in
from real_runs.materials import Materials

EXAMPLES = Path(__file__).parents[2] / "examples"
EVERY_FILE = EXAMPLES / "tiny-overrides.yaml"
SIZES = {
    "ChatGLM2Config": "chatglm2",
    "GPT2Config": "gpt2",
    "InternLM2Config": "internlm2",
    "InternLMConfig": "llama",
    "LlamaConfig": "llama",
    "QwenConfig": "unshared-heads",
    "Baichuan7BV2ForCausalLM": "unshared-heads",
    "Baichuan13BV2ForCausalLM": "unshared-heads",
}
"""The file of sizes of a network, else of its family; others are no language models, and are taken as they are."""

DATASETS = ("train_dataset", "eval_dataset")
LENGTHS = {
    "KeyWordGenDataset": {"max_source_length": 32, "max_target_length": 31},
    "MultiTurnDataset": {"max_seq_length": 64},
}
"""Keys of a data set that go with seq_length."""

NO_TOKENIZER = "Llama3Tokenizer"
"""What a training gets whose file has no tokenizer: only those of Llama 3 have none."""


@dataclass(frozen=True)
class TinyRun:
    """A file with its overrides.

    Attributes:
        published: the file as it was published.
        file: the same, or a copy in which its misspelt keys are mended.
        overrides: arguments of `--set`.
        mistakes: the errors of the published file.
        problems: errors, and what keeps the file from being run with the overrides.
        config: the tiny run; None where there is an error.
    """

    published: Path
    file: Path
    overrides: tuple[str, ...]
    mistakes: tuple[Problem, ...]
    problems: tuple[Problem, ...]
    config: RunConfig | None


def tiny_run(published: Path, materials: Materials, folder: Path) -> TinyRun:
    """Choose the overrides of a file, and make the rows and vocabularies that they name.

    Args:
        published: a run configuration.
        materials: what the run reads.
        folder: the run's own, for its output and for a copy of the file.
    """
    mistakes = errors_in(examine(load(published)).problems)
    misspelt = [problem for problem in mistakes if problem.suggestion]
    file = _with_mended_keys(published, [problem for problem in misspelt if _is_key(problem)], folder)
    root = load(file).root
    overrides = [f"output_dir={folder / 'output'}"]
    overrides += [f"{problem.path}={problem.suggestion}" for problem in misspelt if not _is_key(problem)]
    kinds = _text(root, "model", "arch", "type"), _text(root, "model", "model_config", "type")
    sizes = next((SIZES[kind] for kind in kinds if kind in SIZES), None)
    if sizes is not None:
        overrides += [f"@{EVERY_FILE}", f"@{EVERY_FILE.with_suffix('')}/{sizes}.yaml"]
        overrides += [*_vocabularies(root, materials), *_lengths(root)]
        config = examine(load(file, overrides)).config
        overrides += _materials(config, materials) if config is not None else ()
    examined = examine(load(file, overrides))
    problems = (*errors_in(examined.problems), *blockers_in(examined.problems))
    return TinyRun(published, file, tuple(overrides), tuple(mistakes), problems, examined.config)


def _with_mended_keys(file: Path, misspelt: list[Problem], folder: Path) -> Path:
    """The file itself, or a copy where keys are misspelt: no override takes a key away."""
    if not misspelt:
        return file
    lines = file.read_text("utf-8").splitlines(keepends=True)
    for problem in misspelt:
        line = problem.location.line - 1
        lines[line] = lines[line].replace(_word(problem), problem.suggestion)
    copy = folder / file.name
    copy.write_text("".join(lines), "utf-8")
    return copy


def _is_key(problem: Problem) -> bool:
    return problem.what == "unknown key"


def _word(problem: Problem) -> str:
    """The last part of a problem's path."""
    return problem.path.rpartition(".")[2]


def _vocabularies(root: Mapping, materials: Materials) -> Iterator[str]:
    """The files of each tokenizer."""
    sections = [f"{name}.tokenizer" for name in ("processor", *DATASETS)]
    types = {section: _text(root, *section.split("."), "type") for section in sections}
    if not any(types.values()) and "train_dataset" in root.entries:
        yield f"processor.tokenizer.type={NO_TOKENIZER}"
        types["processor.tokenizer"] = NO_TOKENIZER
    for section, kind in types.items():
        if kind:
            yield from (f"{section}.{key}={path}" for key, path in materials.vocabulary(kind).items())


def _lengths(root: Mapping) -> Iterator[str]:
    """The keys of data sets that go with seq_length."""
    for name in DATASETS:
        for key, length in LENGTHS.get(_text(root, f"{name}_task", "type"), {}).items():
            if name in root.entries:
                yield f"{name}.{key}={length}"


def _materials(config: RunConfig, materials: Materials) -> Iterator[str]:
    """The rows and the weights that the run reads."""
    for name in DATASETS:
        dataset = getattr(config, name)
        if dataset is not None and dataset.data_loader is not None and config.run_mode != "predict":
            tokenizer = dataset.tokenizer or config.tokenizer
            task = getattr(config, f"{name}_task")
            yield f"{name}.data_loader.dataset_dir={materials.data(dataset.data_loader, task, tokenizer)}"
    if config.run_mode != "train" or config.load_checkpoint is not None:
        yield f"load_checkpoint={materials.place_of_weights(config.model.model_config)}"


def _text(node: Node, *path: str) -> str:
    """The text under a path, empty where there is none."""
    for name in path:
        if not isinstance(node, Mapping) or name not in node.entries:
            return ""
        node = node.entries[name]
    return node.text if isinstance(node, Scalar) else ""
