"""How the tokens of a run's rows are divided among processes; needs no device."""

from mf_config import RunConfig
from mf_config.layout import Mesh
from mf_config.problems import UserError, name_values
from mf_parallel.row_places import RowDivision


def row_division(config: RunConfig, mesh: Mesh) -> RowDivision:
    """What `context_parallel_algo` asks for.

    Args:
        config: the run configuration.
        mesh: the mesh of its processes.
    Returns:
        The division among the ranks of `cp`.
    Raises:
        UserError: the ranks that exchange heads don't divide those of a row, or the heads; or rows of this length
            can't be divided so.
    """
    ranks, degrees = mesh.degree("cp"), config.parallel_config
    exchanging = {"colossalai_cp": 1, "ulysses_cp": ranks}.get(
        degrees.context_parallel_algo, degrees.ulysses_degree_in_cp
    )
    if ranks == 1:
        return RowDivision()
    if ranks % exchanging:
        allowed = name_values(degree for degree in range(1, ranks + 1) if ranks % degree == 0)
        raise UserError(
            f"parallel_config.ulysses_degree_in_cp: {exchanging} of context_parallel {ranks} ranks. Allowed: {allowed}."
        )
    model_config, divided = config.model.model_config, exchanging * mesh.degree("tp")
    for name in ("num_heads", "num_kv_heads"):
        heads = getattr(model_config, name)
        if heads % divided:
            raise UserError(
                f"parallel_config.context_parallel_algo: {exchanging} ranks exchange heads, and with model_parallel "
                f"{mesh.degree('tp')} they can't share {name} {heads}. Allowed: a divisor of {heads}, or colossalai_cp."
            )
    division = RowDivision(ranks // exchanging, exchanging)
    division.places(model_config.seq_length, 0)
    return division
