"""LoRA weights of MindFormers: `MODULE.mindpet_delta_lora_a` [r, in] and `…_b` [out, r], mostly beside the base.

Older files say `tk_delta_lora_a`, or write A and B as capitals. A file doesn't tell alpha; the run's `lora_alpha` does.
"""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from mf_ckpt.dtypes import Array
from mf_ckpt.lora.adapter import WEIGHT, Adapter, pair_of, problems_as_one
from mf_ckpt.lora.config import LoraConfig
from mf_ckpt.sources.renamed import RenamedSource
from mf_ckpt.sources.source import Source
from mf_config.problems import UserError

_NAME = re.compile(r"(?P<module>.+)\.(?:mindpet|tk)_delta_lora_(?P<side>[abAB])\Z")


def adapter_in(source: Source, *, alpha: float, use_rslora: bool = False, origin: str = "LoRA weights") -> Adapter:
    """The LoRA weights among the tensors of a source.

    Args:
        source: any tensors, such as those of a `.ckpt` file with base and LoRA weights.
        alpha: the run's `lora_alpha`; the scale is alpha / rank, with the rank that the matrices have.
        use_rslora: whether the scale is alpha / sqrt(rank) instead.
        origin: how messages call it.

    Returns:
        The adapter, for a base whose tensors have their MindFormers names.

    Raises:
        UserError: there are none, or some don't fit together; all faults in one message.
    """
    sides: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    for name in source:
        match = _NAME.match(name)
        if match:
            own = sides.setdefault(match["module"], {})
            if match["side"].lower() in own:
                problems.append(f"{match['module']}: has two matrices {match['side'].lower()}")
            own[match["side"].lower()] = name
    halves = [f"{module}: has one matrix alone" for module, own in sides.items() if len(own) < 2]
    problems += halves or ([] if sides else ["holds no LoRA matrices (…mindpet_delta_lora_a)"])
    problems_as_one(origin, problems)
    ranks = {module: next(iter(source.info(own["a"]).shape), 0) for module, own in sides.items()}
    usual = Counter(ranks.values()).most_common(1)[0][0]
    unusual = {re.escape(module): rank for module, rank in ranks.items() if rank != usual}
    config = LoraConfig(usual, alpha, use_rslora, unusual)
    pairs = {}
    for module, own in sides.items():
        try:
            pairs[module + WEIGHT] = pair_of(source, config, module, own["a"], own["b"])
        except UserError as error:
            problems.append(str(error))
    problems_as_one(origin, problems)
    return Adapter(source, config, pairs, {}, origin)


def base_of(source: Source) -> Source:
    """The tensors of a source that are no LoRA matrices."""
    return RenamedSource.subset(source, [name for name in source if not _NAME.match(name)])


def mindpet_tensors(adapter: Adapter, *, alpha: float) -> Iterator[tuple[str, Array, str]]:
    """An adapter's matrices under the names of MindFormers, which has one rank and one alpha for all modules.

    Narrower matrices get zeros up to the largest rank. Where a module's scale is another one than alpha / rank, its B
    is multiplied by what is missing; everything else keeps its bits.

    Args:
        adapter: the adapter, with MindFormers names (see `Adapter.renamed`).
        alpha: the `lora_alpha` that the MindFormers run is given; its `lora_rank` is the largest rank.

    Yields:
        Name, values or stored bits, and element type, for `CkptWriter.add`.

    Raises:
        UserError: it has what MindFormers' LoRA doesn't: embeddings, or tensors that replace those of the base.
    """
    others = [*adapter.replaced, *(name for name, pair in adapter.pairs.items() if pair.transposed)]
    if others:
        raise UserError(f"{adapter.origin}: MindFormers has no LoRA for {', '.join(others)}")
    rank = max(pair.rank for pair in adapter.pairs.values())
    for weight, pair in adapter.pairs.items():
        stem, missing = f"{weight.removesuffix(WEIGHT)}.mindpet_delta_lora", rank - pair.rank
        factor = pair.scale * rank / alpha
        yield f"{stem}_a", *_fitted(adapter.tensors, pair.a, 1.0, ((0, missing), (0, 0)))
        yield f"{stem}_b", *_fitted(adapter.tensors, pair.b, factor, ((0, 0), (0, missing)))


def _fitted(tensors: Source, name: str, factor: float, zeros: tuple[tuple[int, int], ...]) -> tuple[Array, str]:
    """A matrix times a factor, with zeros at its ends; its stored bits where neither changes anything."""
    dtype = tensors.info(name).dtype
    if factor == 1 and not np.any(zeros):
        return tensors.raw(name), dtype
    return np.pad(tensors.read(name).astype(np.float64) * factor, zeros), dtype
