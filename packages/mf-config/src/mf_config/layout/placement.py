"""How one dimension of a tensor is divided among the ranks along one axis of the mesh."""

from dataclasses import dataclass

from mf_config.layout.plain import member, text, whole_number, whole_numbers
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Replicate:
    """Every rank holds the whole tensor."""

    def __str__(self) -> str:
        """`replicated`."""
        return "replicated"

    def to_json(self) -> dict[str, object]:
        """The placement as plain data for a JSON file."""
        return {"kind": "replicate"}


@dataclass(frozen=True, slots=True)
class Shard:
    """Divide a dimension into contiguous blocks, one for each rank along an axis.

    Where the length is no multiple of the number of ranks, the first ranks get one unit more.

    Attributes:
        dim: the tensor dimension, counted from 0.
        axis: the mesh axis whose ranks share it.
        unit: elements that stay together, for example the rows of one attention head; at least 1.
    """

    dim: int
    axis: str
    unit: int = 1

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UserError: if the dimension is negative or the unit below 1.
        """
        _check_dim_and_unit(self.dim, self.unit)

    def __str__(self) -> str:
        """`dim 0 over tp`."""
        return f"dim {self.dim} over {self.axis}"

    def to_json(self) -> dict[str, object]:
        """The placement as plain data for a JSON file."""
        return {"kind": "shard", "dim": self.dim, "axis": self.axis, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Fused:
    """Divide a dimension that joins several matrices: each part is divided by itself, as by `Shard`.

    The local piece then joins the blocks of a rank in the order of the parts, so a rank has its own rows of query,
    key and value, or of gate and up. Cutting the joined matrix as a whole would give the first rank no keys at all.

    Attributes:
        dim: the tensor dimension, counted from 0.
        axis: the mesh axis whose ranks share it.
        parts: length of each joined part, in order; together they fill the dimension.
        unit: elements that stay together in every part; at least 1.
    """

    dim: int
    axis: str
    parts: tuple[int, ...]
    unit: int = 1

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UserError: if the dimension is negative, the unit below 1, or a part shorter than 1.
        """
        _check_dim_and_unit(self.dim, self.unit)
        if not self.parts or min(self.parts) < 1:
            raise UserError(f"placement: joined parts {list(self.parts)}. Allowed: one or more lengths of at least 1.")

    def __str__(self) -> str:
        """`dim 0 over tp in parts 48+24+24`."""
        return f"dim {self.dim} over {self.axis} in parts {'+'.join(map(str, self.parts))}"

    def to_json(self) -> dict[str, object]:
        """The placement as plain data for a JSON file."""
        return {"kind": "fused", "dim": self.dim, "axis": self.axis, "parts": list(self.parts), "unit": self.unit}


Placement = Replicate | Shard | Fused


def placement_from_json(data: object) -> Placement:
    """The placement that `to_json` described.

    Args:
        data: what a JSON file holds.

    Returns:
        The placement.

    Raises:
        UserError: if the data does not describe a placement.
    """
    kind = member(data, "kind", "placement")
    if kind == "replicate":
        return Replicate()
    if kind not in ("shard", "fused"):
        raise UserError(f"placement: kind {kind!r}. Allowed: replicate, shard, fused.")
    dim = whole_number(member(data, "dim", "placement"), "placement: dim")
    axis = text(member(data, "axis", "placement"), "placement: axis")
    unit = whole_number(member(data, "unit", "placement"), "placement: unit")
    if kind == "shard":
        return Shard(dim, axis, unit)
    return Fused(dim, axis, whole_numbers(member(data, "parts", "placement"), "placement: parts"), unit)


def _check_dim_and_unit(dim: int, unit: int) -> None:
    if dim < 0 or unit < 1:
        raise UserError(f"placement: dim {dim} in units of {unit}. Allowed: dim from 0, unit from 1.")
