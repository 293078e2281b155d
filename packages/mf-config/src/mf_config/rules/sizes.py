"""Whether the sizes of the model can be divided as `parallel_config` asks."""

from collections.abc import Iterator

from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule

_MODEL = "model.model_config"
_DEGREES = "parallel_config"


def _ranks_of(checked: Checked, name: str) -> int:
    """A degree, 1 where nothing is divided."""
    degree: int = getattr(checked.config.parallel_config, name)
    return degree if checked.config.use_parallel else 1


@rule("heads-divide-among-ranks", Severity.ERROR, f"{_DEGREES}.model_parallel", f"{_MODEL}.num_heads")
def heads_divide_among_ranks(checked: Checked) -> Iterator[Finding]:
    """num_heads is a multiple of model_parallel (times the ranks that exchange heads along sequences)."""
    heads, ranks = checked.model("num_heads"), _ranks_of(checked, "model_parallel")
    along_sequences = checked.config.parallel_config.context_parallel_algo
    if along_sequences == "ulysses_cp":
        ranks *= _ranks_of(checked, "context_parallel")
    elif along_sequences != "colossalai_cp":
        ranks *= _ranks_of(checked, "ulysses_degree_in_cp")
    if heads and heads % ranks:
        what = f"{ranks} ranks can't divide num_heads {heads}"
        yield Finding(f"{_DEGREES}.model_parallel", what, f"a divisor of {heads}")


@rule("key-value-heads-divide", Severity.BLOCKER, f"{_DEGREES}.model_parallel", f"{_MODEL}.n_kv_heads")
def key_value_heads_divide(checked: Checked) -> Iterator[Finding]:
    """The key/value heads are a multiple of model_parallel: no two ranks hold the same head."""
    heads, ranks = checked.model("num_kv_heads"), _ranks_of(checked, "model_parallel")
    if heads and heads % ranks:
        what = f"{ranks} ranks can't divide {heads} key/value heads"
        yield Finding(f"{_DEGREES}.model_parallel", what, f"a divisor of {heads}")


@rule("widths-divide-among-ranks", Severity.ERROR, f"{_DEGREES}.model_parallel", f"{_MODEL}.hidden_size")
def widths_divide_among_ranks(checked: Checked) -> Iterator[Finding]:
    """hidden_size and the inner width of the feed-forward are multiples of model_parallel."""
    ranks = _ranks_of(checked, "model_parallel")
    for name in ("hidden_size", "inner_size"):
        width = checked.model(name)
        if width and width % ranks:
            written = "intermediate_size" if name == "inner_size" else name
            yield Finding(
                f"{_MODEL}.{written}", f"{width} is not divisible by model_parallel {ranks}", "a multiple of it"
            )


@rule("vocabulary-is-padded", Severity.NOTE, f"{_MODEL}.vocab_size", f"{_DEGREES}.model_parallel")
def vocabulary_is_padded(checked: Checked) -> Iterator[Finding]:
    """A vocabulary that model_parallel does not divide is padded where its rows are divided."""
    rows, ranks = checked.model("vocab_size"), _ranks_of(checked, "model_parallel")
    if rows and rows % ranks and not checked.config.parallel_config.vocab_emb_dp:
        padded = -(-rows // ranks) * ranks
        yield Finding(f"{_MODEL}.vocab_size", f"{rows} rows are padded to {padded} for model_parallel {ranks}")


@rule("sequence-divides-among-ranks", Severity.ERROR, f"{_DEGREES}.context_parallel", f"{_MODEL}.seq_length")
def sequence_divides_among_ranks(checked: Checked) -> Iterator[Finding]:
    """seq_length is a multiple of context_parallel."""
    length, ranks = checked.model("seq_length"), _ranks_of(checked, "context_parallel")
    if length and length % ranks:
        what = f"{ranks} ranks can't divide seq_length {length}"
        yield Finding(f"{_DEGREES}.context_parallel", what, f"a divisor of {length}")


@rule("layers-fill-the-stages", Severity.ERROR, f"{_DEGREES}.pipeline_stage", f"{_MODEL}.num_layers")
def layers_fill_the_stages(checked: Checked) -> Iterator[Finding]:
    """Every pipeline stage has at least one layer."""
    layers, stages = checked.model("num_layers"), _ranks_of(checked, "pipeline_stage")
    if layers and layers < stages:
        yield Finding(f"{_DEGREES}.pipeline_stage", f"{stages} stages for {layers} layers", f"up to {layers}")


@rule("offset-of-each-stage", Severity.ERROR, f"{_MODEL}.offset", f"{_DEGREES}.pipeline_stage")
def offset_of_each_stage(checked: Checked) -> Iterator[Finding]:
    """A list offset has one number for each stage, and they sum to the layers that an even division leaves over."""
    offset, layers = checked.model("offset"), checked.model("num_layers")
    stages, parts = _ranks_of(checked, "pipeline_stage"), checked.model("pp_interleave_num") or 1
    if not isinstance(offset, tuple) or not layers or not checked.trains or stages == 1:
        return
    rows = offset if offset and isinstance(offset[0], tuple) else (offset,)
    if any(len(row) != stages for row in rows):
        yield Finding(f"{_MODEL}.offset", f"{len(rows[0])} numbers for pipeline_stage {stages}", "one number a stage")
    elif sum(map(sum, rows)) != layers % (stages * parts):
        what = f"sums to {sum(map(sum, rows))}, but {layers} layers leave {layers % (stages * parts)} over"
        yield Finding(f"{_MODEL}.offset", what, "numbers that sum to it")


@rule("rows-divide-in-prediction", Severity.ERROR, f"{_MODEL}.batch_size", f"{_DEGREES}.data_parallel")
def rows_divide_in_prediction(checked: Checked) -> Iterator[Finding]:
    """In prediction the model's batch_size is a multiple of data_parallel."""
    rows, ranks = checked.model("batch_size"), _ranks_of(checked, "data_parallel")
    if checked.config.run_mode == "predict" and rows and rows % ranks:
        yield Finding(f"{_MODEL}.batch_size", f"{rows} is not divisible by data_parallel {ranks}", "a multiple of it")


RULES = (
    heads_divide_among_ranks,
    key_value_heads_divide,
    widths_divide_among_ranks,
    vocabulary_is_padded,
    sequence_divides_among_ranks,
    layers_fill_the_stages,
    offset_of_each_stage,
    rows_divide_in_prediction,
)
