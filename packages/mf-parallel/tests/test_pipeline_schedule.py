"""Schedules of pipelines: complete, in a possible order, and as short and as frugal as the papers say."""

from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_parallel.pipeline.schedule import Pass, Shape, schedule
from mf_parallel.pipeline.timeline import Action, Kind, bubble, timeline


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    stages, chunks = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    micros = draw(st.integers(1, 3)) * stages + (draw(st.integers(0, 3)) if chunks == 1 else 0)
    return Shape(stages, chunks, micros)


def words(passes: list[Pass]) -> str:
    return " ".join(f"{'B' if one.backward else 'F'}{one.micro}" for one in passes)


def test_one_forward_one_backward_by_hand():
    first, last = schedule(Shape(2, 1, 4))
    assert words(first) == "F0 F1 B0 F2 B1 F3 B2 B3"
    assert words(last) == "F0 B0 F1 B1 F2 B2 F3 B3"


def test_all_forward_passes_come_first_in_gpipe():
    assert words(schedule(Shape(2, 1, 3), "gpipe")[0]) == "F0 F1 F2 B0 B1 B2"


def test_interleaved_chunks_by_hand():
    # Narayanan et al. 2021, figure 4, with two devices: 2 micro batches of chunk 0, then the same ones of chunk 1.
    first = schedule(Shape(2, 2, 2))[0]
    assert [(one.chunk, one.micro) for one in first if not one.backward] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [(one.chunk, one.micro) for one in first if one.backward] == [(1, 0), (1, 1), (0, 0), (0, 1)]


@given(shapes(), st.sampled_from(["1f1b", "gpipe"]))
def test_every_micro_batch_passes_every_chunk_once_each_way(shape: Shape, kind: str):
    for stage, own in enumerate(schedule(shape, kind)):
        wanted = {
            Pass(stage, chunk, micro, backward)
            for chunk in range(shape.chunks)
            for micro in range(shape.micros)
            for backward in (False, True)
        }
        assert Counter(own) == Counter(wanted)


@given(shapes(), st.sampled_from(["1f1b", "gpipe"]))
def test_no_stage_waits_for_ever_where_both_sides_of_a_message_wait(shape: Shape, kind: str):
    left = [deque(own) for own in timeline(shape, schedule(shape, kind))]
    arrived: set[Pass] = set()
    done: set[Pass] = set()

    def may_go(stage: int, action: Action) -> bool:
        if action.kind is Kind.COMPUTE:
            return True
        other = left[action.peer]
        if not other or {action.kind, other[0].kind} != {Kind.SEND, Kind.RECEIVE} or other[0].peer != stage:
            return False
        sent, taken = (action, other[0]) if action.kind is Kind.SEND else (other[0], action)
        return shape.next(sent.one) == taken.one

    while any(left):
        moved = False
        for stage, own in enumerate(left):
            if not own or not may_go(stage, own[0]):
                continue
            moved = True
            action = own.popleft()
            if action.kind is Kind.COMPUTE:
                check_inputs(shape, action.one, arrived, done)
                done.add(action.one)
            else:
                other = left[action.peer].popleft()
                sent = action.one if action.kind is Kind.SEND else other.one
                assert sent in done
                arrived.add(sent)
        assert moved


def check_inputs(shape: Shape, one: Pass, arrived: set[Pass], done: set[Pass]) -> None:
    """What a pass needs was computed here or has arrived."""
    if one.backward:
        assert Pass(one.stage, one.chunk, one.micro) in done
    for source in done | arrived:
        if shape.next(source) == one:
            return
    part = shape.part(one)
    assert part == (shape.parts - 1 if one.backward else 0)


def test_one_forward_one_backward_keeps_few_activations():
    shape = Shape(4, 1, 16)
    for stage, own in enumerate(schedule(shape)):
        kept = peak = 0
        for one in own:
            kept += -1 if one.backward else 1
            peak = max(peak, kept)
        assert peak == shape.stages - stage


@pytest.mark.parametrize(("chunks", "micros"), [(1, 4), (1, 8), (2, 8), (4, 8)])
def test_the_bubble_is_that_of_the_papers(chunks: int, micros: int):
    # (p - 1) / (v m + p - 1). Source: Narayanan et al. 2021, section 2.2.
    shape = Shape(4, chunks, micros)
    assert bubble(shape, schedule(shape)) == pytest.approx(3 / (chunks * micros + 3))


def test_too_few_micro_batches_are_refused():
    with pytest.raises(UserError, match=r"micro_batch_num: 3 in a pipeline of 4 stages.*Allowed: from 4\."):
        schedule(Shape(4, 1, 3))
    with pytest.raises(UserError, match=r"6 in a pipeline of 4 stages with 2 chunks each\. Allowed: multiples of 4\."):
        schedule(Shape(4, 2, 6))
