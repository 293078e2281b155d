"""Estimates of a small network, counted by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mf_config.layout import Mesh, Shard
from mf_config.problems import UserError
from mf_parallel.optimizer_sharding import shard_optimizer
from mf_parallel.pipeline.schedule import Shape, most_kept, schedule
from mf_parallel.pipeline.timeline import bubble
from mf_parallel.plan import make_plan
from mf_parallel.planner import card as card_module
from mf_parallel.planner.card import DeviceCard, device_card, known_cards
from mf_parallel.planner.estimate import Estimate, estimate, model_flops
from mf_parallel.planner.layout import BackEnd, Layout, Recomputed
from mf_parallel.planner.network import BlockWork, NetworkWork
from mf_parallel.rules import Role, Rule, RuleTable
from mf_parallel.stages import StageSplit

CARDS = Path(card_module.__file__).parent / "cards"

WIDTH, INNER, ROWS, TOKENS, BLOCKS = 8, 16, 40, 12, 4
"""A network of blocks with one head of the whole width, and a feed-forward of two matrices."""

BLOCK = BlockWork(
    shapes=(("up.weight", (INNER, WIDTH)), ("down.weight", (WIDTH, INNER)), ("norm.weight", (WIDTH,))),
    score_width=2 * WIDTH,
    key_width=2 * WIDTH,
    heads=1,
    window=None,
    stream=2 * WIDTH,
    normed=2 * WIDTH,
    inner=INNER,
    product=INNER // 2,
)
NETWORK = NetworkWork(
    before={"table.weight": (ROWS, WIDTH)},
    blocks=(BLOCK,) * BLOCKS,
    behind={"head.weight": (ROWS, WIDTH)},
    block_name="layers.{}.",
    hidden_size=WIDTH,
    vocab_size=ROWS,
    row_length=TOKENS,
)
RULES = RuleTable(
    (
        Rule("table.weight", Shard(0, "tp"), Role.VOCABULARY),
        Rule("head.weight", Shard(0, "tp"), Role.VOCABULARY),
        Rule("layers.{layer}.up.weight", Shard(0, "tp"), Role.COLUMN),
        Rule("layers.{layer}.down.weight", Shard(1, "tp"), Role.ROW),
        Rule("layers.{layer}.norm.weight"),
    )
)
MATRICES, NORM, TABLE = 2 * WIDTH * INNER, WIDTH, ROWS * WIDTH
"""Elements of the parameters of a block, and of each table."""


def layout(shards: int = 1, **degrees: int) -> Layout:
    mesh = Mesh.of(**degrees)
    stages = mesh.degree("pp")
    split = StageSplit.of(BLOCKS, stages) if stages > 1 else None
    plan = make_plan(mesh, NETWORK.shapes_of_kinds, RULES, split=split)
    return Layout(network=NETWORK, weights=plan, optimizer=shard_optimizer(plan, shards, 0) if shards > 1 else plan)


def on_card(found: Layout, name: str = "910B") -> Estimate:
    return estimate(found, device_card(name), "bfloat16")


def test_parameters_and_states_of_one_rank() -> None:
    (memory,) = on_card(layout()).memory
    elements = BLOCKS * (MATRICES + NORM) + 2 * TABLE
    assert (memory.parameters, memory.gradients, memory.optimizer) == (4 * elements, 4 * elements, 8 * elements)


def test_stages_hold_their_blocks_and_their_table() -> None:
    first, last = on_card(replace(layout(pp=2, tp=2), micro_batches=2)).memory
    elements = 2 * (MATRICES // 2 + NORM) + TABLE // 2
    assert first.parameters == last.parameters == 4 * elements
    assert last.working > first.working, "the logits are on the last stage"


def test_shared_states_have_copies_of_the_weights() -> None:
    whole, shared = on_card(layout(dp=2)).memory[0], on_card(layout(dp=2, shards=2)).memory[0]
    assert shared.parameters == whole.parameters
    assert shared.optimizer == whole.optimizer // 2 + whole.parameters // 2
    divided = on_card(replace(layout(dp=2, shards=2), back_end=BackEnd.MINDSPORE)).memory[0]
    assert (divided.parameters, divided.optimizer) == (whole.parameters // 2, whole.optimizer // 2)


def test_activations_by_hand() -> None:
    kept = 2 * WIDTH + 2 * WIDTH + INNER
    (memory,) = on_card(layout()).memory
    assert memory.activations == 2 * TOKENS * (BLOCKS * kept + 2 * WIDTH)
    (memory,) = on_card(replace(layout(), recomputed=Recomputed(whole=frozenset({0, 1})))).memory
    assert memory.activations == 2 * TOKENS * ((BLOCKS - 2) * kept + 2 * WIDTH + 2 * WIDTH)
    parts = replace(layout(), recomputed=Recomputed(products=frozenset({0})))
    assert on_card(parts).memory[0].activations == 2 * TOKENS * (BLOCKS * kept + 2 * WIDTH)
    (memory,) = on_card(replace(parts, back_end=BackEnd.MINDSPORE)).memory
    assert memory.activations == 2 * TOKENS * (BLOCKS * kept - INNER // 2 + 2 * WIDTH)
    # The CPU computes in float32.
    (memory,) = on_card(layout(), "CPU").memory
    assert memory.activations == 4 * TOKENS * (BLOCKS * kept + 2 * WIDTH)
    scored = replace(device_card("CPU"), fused_attention=False)
    (memory,) = estimate(layout(), scored, "float32").memory
    assert memory.activations == 4 * TOKENS * (BLOCKS * (kept + TOKENS) + 2 * WIDTH)


def test_a_tied_head_is_the_table_of_tokens() -> None:
    places = {"table.weight": (ROWS, WIDTH), "places.weight": (TOKENS, WIDTH)}
    network = replace(NETWORK, before=places, behind={"norm.weight": (WIDTH,)})
    tables = [Rule(name, role=Role.VOCABULARY) for name in places]
    rules = RuleTable((*tables, *(rule for rule in RULES.rules if "layer" in rule.pattern), Rule("norm.weight")))
    plan = make_plan(Mesh.of(), network.shapes_of_kinds, rules)
    assert Layout(network=network, weights=plan, optimizer=plan).vocabulary() == ROWS


def test_divided_tokens_divide_the_stream() -> None:
    found = layout(tp=2)
    divided = replace(found, weights=replace(found.weights, divided_tokens=True))
    spared = BLOCKS * 2 * WIDTH // 2
    assert on_card(found).memory[0].activations - on_card(divided).memory[0].activations == 2 * TOKENS * spared


def test_a_pipeline_keeps_what_is_under_way() -> None:
    piped = replace(layout(pp=2), micro_batches=4, back_end=BackEnd.MINDSPORE)
    first, last = on_card(piped).memory
    half = 2 * TOKENS * 2 * (2 * WIDTH + 2 * WIDTH + INNER)
    assert (first.activations, last.activations) == (2 * half, half + 2 * TOKENS * 2 * WIDTH)


def test_all_parts_but_the_last_are_computed_twice() -> None:
    passes = [layout(pp=2).forward_passes(block) for block in range(BLOCKS)]
    assert passes == [2, 2, 1, 1]
    assert layout().forward_passes(0) == 1


@pytest.mark.parametrize("kind", ["1f1b", "gpipe"])
@pytest.mark.parametrize("shape", [Shape(1, 1, 3), Shape(4, 1, 6), Shape(2, 2, 4), Shape(4, 1, 4)])
def test_most_kept_is_what_the_schedule_keeps(shape: Shape, kind: str) -> None:
    for stage, passes in enumerate(schedule(shape, kind)):
        kept = most = 0
        for one in passes:
            kept += -1 if one.backward else 1
            most = max(most, kept)
        assert most_kept(shape, stage, kind) == most


@pytest.mark.parametrize(("stages", "micros"), [(2, 2), (2, 8), (4, 4), (4, 16)])
def test_equal_stages_wait_as_long_as_the_schedule_says(stages: int, micros: int) -> None:
    # mf's own last stage computes less than the others.
    found = replace(layout(pp=stages), micro_batches=micros, back_end=BackEnd.MINDSPORE)
    card = device_card("910B")
    silent = replace(card, shares=replace(card.shares, exposed=0.0))
    time = estimate(replace(found, network=replace(NETWORK, heads_used=0)), silent, "bfloat16").time
    shape = Shape(stages, 1, micros)
    assert time.bubble == pytest.approx(bubble(shape, schedule(shape)))


def test_collectives_by_hand() -> None:
    (sent,) = on_card(replace(layout(tp=2), micro_batches=3)).traffic
    hidden = TOKENS * WIDTH * 2
    # Four sums a block, one of the lookup and one of the head; a sum of two ranks sends as much as it is long.
    assert {one.what: one.sent for one in sent} == {"sums of activations": 3 * (4 * BLOCKS + 2) * hidden}
    (sent,) = on_card(layout(dp=4, shards=4)).traffic
    weights = 4 * (BLOCKS * (MATRICES + NORM) + 2 * TABLE)
    assert {one.what: one.sent for one in sent} == {
        "sums of gradients": 2 * 3 * weights // 4,
        "updated weights": 3 * weights // 4,
    }
    first, last = on_card(replace(layout(pp=2), micro_batches=2)).traffic
    assert [one.sent for one in (*first, *last)] == [2 * hidden, 2 * hidden]


def test_groups_beyond_a_node_use_far_links() -> None:
    near, far = layout(dp=8), layout(dp=16)
    assert [one.span for one in (*on_card(near).traffic[0], *on_card(far).traffic[0])] == [8, 16]
    card = device_card("910B")
    assert card.link_rate(8) == pytest.approx(196e9 * card.shares.link)
    assert card.link_rate(16) == pytest.approx(25e9 * card.shares.link)


def test_model_flops_by_hand() -> None:
    linear = BLOCKS * MATRICES + TABLE
    attention = BLOCKS * 2 * WIDTH * (TOKENS + 1) / 2
    assert model_flops(layout()) == 6 * (linear + attention)
    window = replace(NETWORK, blocks=(replace(BLOCK, window=4),) * BLOCKS)
    seen = sum(min(place + 1, 4) for place in range(TOKENS)) / TOKENS
    assert model_flops(replace(layout(), network=window)) == pytest.approx(6 * (linear + BLOCKS * 2 * WIDTH * seen))


def test_recomputation_takes_time_and_does_not_count_as_use() -> None:
    plain, again = (
        on_card(replace(layout(), recomputed=Recomputed(whole=blocks)))
        for blocks in (frozenset[int](), frozenset(range(BLOCKS)))
    )
    assert again.time.computing > plain.time.computing
    assert again.utilization < plain.utilization


def test_an_estimate_as_plain_data() -> None:
    found = on_card(layout(tp=2))
    data = json.loads(json.dumps(found.to_json()))
    assert data["peak_bytes"] == found.memory[0].peak
    assert data["mesh"]["tp"] == data["devices"] == 2
    assert data["seconds"]["total"] == pytest.approx(sum(data["seconds"].values()) - data["seconds"]["total"])


def test_cards_have_names_and_sources() -> None:
    names = [name for card in known_cards() for name in card.names]
    assert {"Ascend910B", "910C", "CPU"} <= set(names)
    for card in known_cards():
        assert set(card.sources) <= set(DeviceCard.__dataclass_fields__) - {"sources"}
        assert {"peak_tflops", "shares"} <= set(card.sources)
    assert device_card("ascend_910b") is not None
    with pytest.raises(UserError, match="Did you mean Ascend910B"):
        device_card("Ascnd910B")


def test_a_card_of_ones_own(tmp_path: Path) -> None:
    own: dict[str, Any] = json.loads((CARDS / "cpu.json").read_text(encoding="utf-8"))
    path = tmp_path / "own.json"
    path.write_text(json.dumps({**own, "memory_gib": 7}))
    assert device_card(str(path)).memory_bytes == 7 * 2**30
    path.write_text(json.dumps({key: value for key, value in own.items() if key != "shares"}))
    with pytest.raises(UserError, match="shares missing or unknown"):
        device_card(str(path))
    with pytest.raises(UserError, match="can't be read"):
        device_card(str(tmp_path / "none.json"))
