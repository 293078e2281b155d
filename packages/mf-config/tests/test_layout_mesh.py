"""Ranks, coordinates and groups of a mesh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.layout import Mesh
from mf_config.problems import UserError

degrees = st.integers(1, 3)


@st.composite
def meshes(draw: st.DrawFn) -> Mesh:
    return Mesh.of(**{axis: draw(degrees) for axis in ("pp", "dp", "ep", "cp", "tp")})


def test_ranks_run_along_tp_first_and_along_pp_last():
    mesh = Mesh.of(pp=2, dp=2, tp=2)
    assert [mesh.rank({"pp": p, "dp": d, "tp": t}) for p in (0, 1) for d in (0, 1) for t in (0, 1)] == list(range(8))


def test_expert_ranks_are_the_inner_part_of_the_data_ranks():
    # MindFormers: data_parallel 4, expert_parallel 2, model_parallel 2: data index = rank // 2, expert = data % 2.
    mesh = Mesh.of(dp=2, ep=2, tp=2)
    assert [mesh.coordinates(rank)["ep"] for rank in range(8)] == [rank // 2 % 2 for rank in range(8)]


def test_groups_of_a_data_and_tensor_parallel_mesh():
    mesh = Mesh.of(dp=2, tp=3)
    assert mesh.groups(["tp"]) == [(0, 1, 2), (3, 4, 5)]
    assert mesh.groups(["dp"]) == [(0, 3), (1, 4), (2, 5)]
    assert mesh.groups(["dp", "tp"]) == [(0, 1, 2, 3, 4, 5)]
    assert mesh.group(4, ["dp"]) == (1, 4)
    assert mesh.group(4, []) == (4,)


@pytest.mark.property
@given(meshes())
def test_rank_and_coordinates_are_inverse(mesh: Mesh):
    assert [mesh.rank(mesh.coordinates(rank)) for rank in range(mesh.size)] == list(range(mesh.size))


@pytest.mark.property
@given(meshes(), st.sets(st.sampled_from(("pp", "dp", "ep", "cp", "tp"))))
def test_groups_hold_each_rank_once(mesh: Mesh, axes: set[str]):
    members = [rank for group in mesh.groups(sorted(axes)) for rank in group]
    assert sorted(members) == list(range(mesh.size))


@pytest.mark.property
@given(meshes())
def test_json_round_trip(mesh: Mesh):
    assert Mesh.from_json(mesh.to_json()) == mesh


def test_text_names_only_what_divides():
    assert str(Mesh.of(dp=2, tp=4)) == "dp 2, tp 4"
    assert str(Mesh.of()) == "one process"


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: Mesh.of(dp=0), "axis dp has degree 0. Allowed: at least 1"),
        (lambda: Mesh(("dp", "dp"), (1, 2)), "each axis once"),
        (lambda: Mesh(("dp",), (1, 2)), "each axis once"),
        (lambda: Mesh.of(dp=2).coordinates(2), "no rank 2. Allowed: 0 to 1"),
        (lambda: Mesh.of(dp=2).coordinates(-1), "no rank -1"),
        (lambda: Mesh.of(dp=2).rank({"dp": 2}), "axis dp has no position 2. Allowed: 0 to 1"),
        (lambda: Mesh(("data", "tensor"), (2, 2)).degree("tensors"), "no axis 'tensors'.*Did you mean tensor"),
        (lambda: Mesh.from_json([2, 2]), "no 'axes'"),
        (lambda: Mesh.from_json({"axes": ["dp"], "degrees": [True]}), "True found"),
        (lambda: Mesh.from_json({"axes": ["dp"], "degrees": ["2"]}), "'2' found"),
        (lambda: Mesh.from_json({"axes": [1], "degrees": [2]}), "a list of str"),
        (lambda: Mesh.from_json({"axes": [], "degrees": 2}), r"degrees: 2 found. Allowed: a list\."),
    ],
)
def test_mistakes_are_named(mistake, message):
    with pytest.raises(UserError, match=message):
        mistake()
