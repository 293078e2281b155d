import pytest

from mf_config.nodes import Mapping, Node, Scalar, Sequence, describe_node, join_path
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
