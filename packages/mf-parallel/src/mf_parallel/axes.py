"""The groups in which one rank communicates along the axes of a mesh."""

from mf_config.layout import Mesh
from mf_parallel.collectives import Communicator


class AxisCommunicators:
    """The communicators of one rank, each formed when it is first asked for: by all of its members, in one order.

    Attributes:
        mesh: the mesh.
        rank: this rank's number in it.
    """

    def __init__(self, mesh: Mesh, rank: int, first: int = 0):
        """Takes the mesh and a place in it.

        Args:
            mesh: the mesh of some or all processes of a job.
            rank: this process's number in the mesh.
            first: the process that stands at rank 0 of the mesh.
        """
        self.mesh = mesh
        self.rank = rank
        self._first = first
        self._made: dict[tuple[int, ...], Communicator] = {}

    def on(self, mesh: Mesh) -> "AxisCommunicators":
        """The same process on another mesh of the same ranks; groups of the same ranks are one."""
        other = AxisCommunicators(mesh, self.rank, self._first)
        other._made = self._made
        return other

    def along(self, *axes: str) -> Communicator:
        """The ranks that differ from this one along some axes only.

        Args:
            *axes: names of axes of the mesh; none for this rank alone.
        """
        return self.among(self.mesh.group(self.rank, axes))

    def among(self, ranks: tuple[int, ...]) -> Communicator:
        """Some ranks of the mesh.

        Args:
            ranks: ascending, this one among them.
        """
        if ranks not in self._made:
            members = [self._first + rank for rank in ranks]
            self._made[ranks] = Communicator(self._first + self.rank, members)
        return self._made[ranks]

    @property
    def everyone(self) -> Communicator:
        """All ranks of the mesh."""
        return self.among(tuple(range(self.mesh.size)))

    def position(self, *axes: str) -> int:
        """This rank's number among those that differ from it along some axes only."""
        return self.mesh.group(self.rank, axes).index(self.rank)

    def degree(self, *axes: str) -> int:
        """How many ranks differ along some axes only."""
        return len(self.mesh.group(self.rank, axes))
