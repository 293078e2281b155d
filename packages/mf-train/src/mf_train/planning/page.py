"""The planner's answer as text that a person can check."""

from collections.abc import Iterator, Sequence

from mf_parallel.plan_table import align
from mf_parallel.planner.estimate import Estimate
from mf_parallel.planner.memory import StageMemory
from mf_train.planning.layout_search import Proposal

_GIB = 2**30

_MEMORY = ("parameters", "optimizer", "sums", "activations", "working", "gradients", "peak")


def plan_page(found: Estimate) -> str:
    """What a layout takes.

    Args:
        found: the estimate.

    Returns:
        A summary, a table of memory with a line for stages that are alike, one of collectives, one of time.
    """
    blocks = ["\n".join(_summary(found)), "\n".join(_memory(found)), "\n".join(_time(found))]
    if any(found.traffic):
        blocks.insert(2, "\n".join(_traffic(found)))
    return "\n\n".join(blocks)


def proposals_page(found: Sequence[Proposal]) -> str:
    """Layouts that fit, with the options that ask for them."""
    if not found:
        return "no layout of these devices with as many rows a step was found that fits"
    rows = [("layout", "peak GiB", "tokens/s on a device")]
    for one in found:
        rate = f"{one.estimate.tokens_per_second_per_device:,.0f}"
        rows.append((str(one.estimate.layout.weights.mesh), _gibibytes(one.estimate.peak), rate))
    lines = ["layouts that fit, the one that changes fewest keys first, then the fastest:"]
    for line, options in zip(align(rows), ("", *(one.as_options() for one in found)), strict=True):
        lines += [line, f"  {options}"] if options else [line]
    return "\n".join(lines)


def _summary(found: Estimate) -> Iterator[str]:
    layout = found.layout
    yield f"{layout.devices:,} x {found.card.names[0]}, {layout.weights.mesh}, computing in {found.kind}"
    yield (
        f"{layout.tokens_per_step:,} tokens a step: on each rank {layout.micro_batches:,} x {layout.rows} rows "
        f"(micro batches and their rows) of {layout.network.row_length:,}"
    )
    needs = "fits" if found.fits else "does NOT fit"
    yield f"{needs}: {_gibibytes(found.peak)} of {found.card.memory_gib:,.1f} GiB on the rank that needs most"


def _memory(found: Estimate) -> Iterator[str]:
    yield "GiB on a rank; the peak has activations and working memory, or the gradients that take their place"
    rows: list[tuple[str, ...]] = [("stage", "blocks", *_MEMORY)]
    for first, last, memory in _alike(found.memory):
        counts = {len(found.layout.blocks(stage)) for stage in range(first, last + 1)}
        stages = str(first) if first == last else f"{first}..{last}"
        sizes = [_gibibytes(getattr(memory, name)) for name in _MEMORY]
        rows.append((stages, "/".join(map(str, sorted(counts))), *sizes))
    yield from align(rows)


def _alike(memory: Sequence[StageMemory]) -> Iterator[tuple[int, int, StageMemory]]:
    """Neighbouring stages with the same numbers: the first, the last, and theirs."""
    first = 0
    for stage, one in enumerate(memory):
        if stage + 1 == len(memory) or memory[stage + 1] != one:
            yield first, stage, one
            first = stage + 1


def _traffic(found: Estimate) -> Iterator[str]:
    yield "sent by the rank that sends most, in a step"
    rows = [("axis", "what", "link", "seconds", "GiB")]
    most: dict[tuple[str, str], tuple[int, int]] = {}
    for sent in found.traffic:
        for one in sent:
            key = (one.axis, one.what)
            most[key] = max(most.get(key, (0, 0)), (one.sent, one.span))
    for (axis, what), (size, span) in most.items():
        link = "in a node" if span <= found.card.devices_per_node else "between nodes"
        rows.append((axis, what, link, f"{size / found.card.link_rate(span):,.3f}", _gibibytes(size)))
    yield from align(rows)


def _time(found: Estimate) -> Iterator[str]:
    time = found.time
    parts = {
        "products with weights": time.products,
        "attention": time.attention,
        "operators between them": time.operators,
        "forward passes computed again": time.repeated,
        "collectives that nothing hides": time.communication,
        f"waiting for other stages ({time.bubble:.1%} of the passes)": time.waiting,
        "gradients and gathered weights": time.gradients,
        "optimizer": time.update,
        "a step": time.total,
    }
    yield from align([("", "seconds"), *((name, f"{seconds:,.3f}") for name, seconds in parts.items())])
    yield (
        f"{found.tokens_per_second:,.0f} tokens/s, {found.tokens_per_second_per_device:,.0f} on each device; model "
        f"FLOPs utilization {found.utilization:.1%} of {found.card.peak_tflops[found.kind]:g} TFLOP/s (6 N and causal "
        "attention; recomputation does not count)"
    )


def _gibibytes(size: float) -> str:
    return f"{size / _GIB:,.2f}"
