"""Each parameter finds exactly one rule, or the message names all that don't."""

import pytest

from mf_config.layout import Replicate, Shard
from mf_config.problems import UserError
from mf_parallel.rules import Role, Rule, RuleTable

TABLE = RuleTable(
    (
        Rule("model.tok_embeddings.weight", Shard(0, "tp"), Role.VOCABULARY),
        Rule("model.layers.{layer}.attention.wq.weight", Shard(0, "tp"), Role.COLUMN),
        Rule("model.layers.{layer}.attention.wo.weight", Shard(1, "tp"), Role.ROW),
        Rule("model.norm.weight"),
    )
)


def test_a_placeholder_stands_for_one_whole_number():
    rule = TABLE.match("model.layers.17.attention.wq.weight")
    assert (rule.role, rule.placements) == (Role.COLUMN, (Shard(0, "tp"),))
    for name in ("model.layers.x.attention.wq.weight", "model.layers.1.2.attention.wq.weight"):
        with pytest.raises(UserError, match="no rule matches"):
            TABLE.match(name)


def test_a_rule_alone_means_replicated():
    assert TABLE.match("model.norm.weight").placements == (Replicate(),)
    assert TABLE.match("model.norm.weight").role is Role.REPLICATED


def test_dots_match_dots_only_and_the_whole_name():
    for name in ("modelxnorm.weight", "model.norm.weight.copy", "my.model.norm.weight"):
        with pytest.raises(UserError, match="no rule matches"):
            TABLE.match(name)


def test_all_unmatched_names_are_reported_with_the_nearest_rule():
    names = [f"model.layers.{layer}.attention.wqq.weight" for layer in range(28)]
    with pytest.raises(UserError) as caught:
        TABLE.match_all([*names, "model.norm.weight", "completely.different"])
    first, second = str(caught.value).splitlines()
    assert first == (
        "model.layers.{0..27}.attention.wqq.weight: no rule matches. Allowed: one rule for each parameter. "
        "Did you mean model.layers.{layer}.attention.wq.weight?"
    )
    assert second == "completely.different: no rule matches. Allowed: one rule for each parameter."


def test_names_that_two_rules_claim_are_reported():
    table = RuleTable((*TABLE.rules, Rule("model.layers.{block}.attention.wq.weight")))
    with pytest.raises(UserError, match=r"wq\.weight: 2 rules match: .*\{layer\}.*, .*\{block\}.*\. Allowed: one"):
        table.match("model.layers.0.attention.wq.weight")


def test_several_axes_may_divide_one_parameter():
    rule = Rule("w", (Shard(0, "tp"), Shard(0, "dp")), Role.COLUMN)
    assert rule.placements == (Shard(0, "tp"), Shard(0, "dp"))
