import pytest

from mf_config.nodes import Mapping, Node, Scalar, Sequence, describe_node, describe_place, join_path, same_value
from mf_config.problems import Location

HERE = Location("run.yaml", 1)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (Scalar("3", False, HERE), "3"),
        (Scalar("3", True, HERE), "'3'"),
        (Scalar("", False, HERE), "''"),
        (Scalar("小模型", False, HERE), "小模型"),
        (Scalar("a\nb", True, HERE), "'a\\nb'"),
        (Scalar("x" * 61, False, HERE), "x" * 60 + "…"),
        (Sequence((), HERE), "a list"),
        (Mapping({}, {}, HERE), "a section"),
    ],
)
def test_a_node_in_words(node: Node, words: str) -> None:
    assert describe_node(node) == words


def test_paths_are_dotted() -> None:
    assert join_path("", "seed") == "seed"
    assert join_path("runner_config", "epochs") == "runner_config.epochs"
    assert join_path("a", "b\nc") == "a.'b\\nc'"


def test_a_place_in_words() -> None:
    assert describe_place(Location("run.yaml", 18, 3)) == "line 18, column 3"
    assert describe_place(Location("command line:--set", 0)) == "command line:--set"


def scalar(text: str, quoted: bool = False) -> Scalar:
    return Scalar(text, quoted, Location("other.yaml", 2))


def mapping(**entries: Node) -> Mapping:
    return Mapping(entries, dict.fromkeys(entries, HERE), HERE)


def test_nodes_written_alike() -> None:
    assert same_value(scalar("1"), Scalar("1", False, HERE))
    assert same_value(Sequence((scalar("1"),), HERE), Sequence((scalar("1"),), HERE))
    assert same_value(mapping(a=scalar("1"), b=mapping()), mapping(b=mapping(), a=scalar("1")))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (scalar("1"), scalar("2")),
        (scalar("1"), scalar("1", quoted=True)),
        (Sequence((scalar("1"),), HERE), Sequence((scalar("1"), scalar("1")), HERE)),
        (Sequence((scalar("1"),), HERE), Sequence((scalar("2"),), HERE)),
        (mapping(a=scalar("1")), mapping(b=scalar("1"))),
        (mapping(a=scalar("1")), mapping(a=scalar("2"))),
        (mapping(), Sequence((), HERE)),
        (mapping(), scalar("")),
    ],
)
def test_nodes_written_differently(left: Node, right: Node) -> None:
    assert not same_value(left, right) and not same_value(right, left)
