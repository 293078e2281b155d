"""Puts learnt keys and values before each text of a finished network; everything else is frozen."""

from collections.abc import Iterator, Sequence

from mindspore import Parameter, Tensor, nn

from mf_config.problems import UserError
from mf_models.initializers import initial_values
from mf_models.layers.attention import SelfAttention
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.dropout import connect_dropout
from mf_models.layers.linear import ADAPTER
from mf_models.layers.prefix import KeyValuePrefix, LearntRows, ProjectedRows
from mf_models.prefix_tuning.adaptation import PrefixAdaptation
from mf_models.prefix_tuning.form import PrefixForm

_SHARED = f"model.{ADAPTER}"
"""Beginning of the names of what all blocks share."""


def attach(form: PrefixForm, cell: CausalLanguageModel, seed: int) -> PrefixAdaptation:
    """Put learnt rows before the texts of each block; call it before the cell is compiled.

    All new parameters are normal with the standard deviation of the network's matrices.

    Args:
        form: the rows.
        cell: the network; its weights may still change.
        seed: seed of the new parameters.

    Returns:
        The trained parameters and their files.

    Raises:
        UserError: the network finds classes, or its attention has no heads of keys.
    """
    if cell.score is not None:
        raise UserError("pet_config.pet_type: a prefix leaves a head of classes untrained. Allowed: lora.")
    attentions = [block.attention for block in cell.model.layers]
    if not all(isinstance(attention, SelfAttention) for attention in attentions):
        raise UserError("pet_config.pet_type: latent attention has no keys to put before a text. Allowed: lora.")
    trained = _Trained(seed, cell.initializer_range)
    sources = list(_rows(form, attentions, trained))
    for attention, rows in zip(attentions, sources, strict=True):
        attention.prefix = KeyValuePrefix(rows, form.dropout)
    for parameter in cell.get_parameters():
        parameter.requires_grad = False
    # MindSpore has put the names of the cells before those of the parameters.
    for name, parameter in trained.parameters.items():
        parameter.name, parameter.requires_grad = name, True
    connect_dropout(cell)
    return PrefixAdaptation(form, trained.parameters)


class _Trained:
    """Makes parameters by name.

    Attributes:
        parameters: what it made.
    """

    def __init__(self, seed: int, standard_deviation: float):
        self.parameters: dict[str, Parameter] = {}
        self._drawn = seed, standard_deviation

    def new(self, name: str, shape: Sequence[int]) -> Parameter:
        """A parameter of this shape, drawn from its name."""
        self.parameters[name] = Parameter(Tensor(initial_values(name, shape, *self._drawn)))
        return self.parameters[name]


def _rows(form: PrefixForm, attentions: Sequence[SelfAttention], trained: _Trained) -> Iterator[nn.Cell]:
    """For each block what gives its keys and values."""
    shared: tuple[Parameter, Parameter] | None = None
    for attention in attentions:
        place = f"model.layers.{attention.layer}.attention.{ADAPTER}"
        heads, head_dim, _ = attention.cache_sizes
        if not form.inner:
            shape = (heads, form.rows, head_dim)
            yield LearntRows(*(trained.new(f"{place}.{part}", shape) for part in ("keys", "values")))
            continue
        if shared is None or not form.shared:
            first_of = _SHARED if form.shared else place
            table_PD = trained.new(f"{first_of}.table", (form.rows, attention.wk.weight.shape[1]))
            shared = table_PD, trained.new(f"{first_of}.first", (form.inner, table_PD.shape[1]))
        second_FM = trained.new(f"{place}.second", (2 * heads * head_dim, form.inner))
        yield ProjectedRows(*shared, second_FM, head_dim)
