"""Cuts a network down to a part of its blocks, for one stage of a pipeline."""

from collections.abc import Iterable

from mindspore import Tensor, nn

from mf_config.problems import UserError
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_parallel.stages import Part


class _Arriving(nn.Cell):
    """In place of the lookup in a table: hidden states, which come in where ids do in a whole network."""

    def construct(self, table_VD: Tensor, x_BTD: Tensor, dim: int) -> Tensor:
        """[B, T, D] as it is."""
        return x_BTD


def keep_blocks(model: CausalLanguageModel, numbers: Iterable[int]) -> None:
    """Drop all blocks but some; those follow each other then. Names of parameters stay as they are.

    Args:
        model: result of `build`.
        numbers: of the blocks that are kept.

    Raises:
        UserError: the network has blocks for the prediction of further tokens, which no stage can take.
    """
    decoder, numbers = model.model, list(numbers)
    if len(decoder.layers) > decoder.depth:
        raise UserError("parallel_config.pipeline_stage: the network predicts further tokens. Allowed: 1.")
    kept = [decoder.layers[number] for number in numbers]
    decoder.insert_child_to_cell("layers", nn.CellList(kept, auto_prefix=False))
    decoder.depth = len(kept)
    decoder.mask_of_layer = tuple(decoder.mask_of_layer[number] for number in numbers)


def keep_part(model: CausalLanguageModel, part: Part) -> None:
    """Drop the blocks of other parts, and what stands before the first or behind the last block if that is not here.

    What is left is called as before: `hidden` takes hidden states [B, T, D] in place of ids where the part is not the
    first, and returns those behind its last block where it is not the last. Names of parameters stay as they are.

    Args:
        model: result of `build`.
        part: what is kept.

    Raises:
        UserError: the network has blocks for the prediction of further tokens, which no stage can take.
    """
    keep_blocks(model, part.blocks)
    decoder = model.model
    if not part.is_first:
        decoder.tok_embeddings.gather = _Arriving()
        decoder.embedding_scale = 1.0
        decoder.position_embeddings = None
        decoder.insert_child_to_cell("embedding_dropout", nn.Identity())
    if not part.is_last:
        decoder.insert_child_to_cell("norm_out", nn.Identity())
        for head in ("lm_head", "score"):
            if getattr(model, head) is not None:
                model.insert_child_to_cell(head, nn.Identity())
