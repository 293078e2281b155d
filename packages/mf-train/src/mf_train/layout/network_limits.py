"""What a network must not have where a layout divides it; needs no device."""

from collections.abc import Iterator

from mf_config.problems import UserError
from mf_models.layers.config import DecoderConfig
from mf_models.model_config import ModelConfig
from mf_models.registry import family_of
from mf_train.layout.plans import Plans


def check_network(config: ModelConfig, plans: Plans) -> None:
    """Refuse a network that looks beyond a rank's heads or tokens.

    Args:
        config: the network.
        plans: how it is divided.

    Raises:
        UserError: a line for each key that has to change.
    """
    problems = list(_problems(family_of(config).decoder(config), plans))
    if problems:
        raise UserError("\n".join(problems))


def _problems(decoder: DecoderConfig, plans: Plans) -> Iterator[str]:
    mesh = plans.weights.mesh
    rows, heads = mesh.degree("cp"), mesh.degree("tp")
    drops = decoder.embedding_dropout or decoder.hidden_dropout or decoder.attention_dropout
    for name, degree in (("context_parallel", rows), ("model_parallel", heads)):
        if drops and degree > 1:
            what = f"{degree}, but the network has dropout, which follows whole rows"
            yield f"parallel_config.{name}: {what}. Allowed: 1, or rates of dropout of 0."
    if rows > 1 and decoder.alibi:
        yield f"parallel_config.context_parallel: {rows}, but the network has ALiBi. Allowed: 1."
    if rows > 1 and decoder.further_tokens:
        yield f"parallel_config.context_parallel: {rows}, but the network predicts further tokens. Allowed: 1."
    if plans.weights.divided_tokens and any(map(decoder.moe_of, range(decoder.num_layers))):
        yield "parallel_config.use_seq_parallel: True, but the network has experts. Allowed: False."
