"""When each process of a pipeline computes, sends and receives. Needs no device.

On some back ends both sides of a message wait for each other. A common order of all passes and messages, of which each
process takes its own, keeps them from waiting in a circle: the order in which things would happen if every stage were
equally fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from mf_parallel.pipeline.schedule import Pass, Shape

_FORWARD_TIME, _BACKWARD_TIME = 1, 3
"""A backward pass computes the forward pass once more, and takes twice its time besides."""


class Kind(Enum):
    """What a process does."""

    COMPUTE = "compute"
    SEND = "send"
    RECEIVE = "receive"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a process does.

    Attributes:
        kind: what.
        one: the pass that is computed, whose result is sent, or that takes what is received.
        peer: the stage at the other end of a message; -1 for a pass.
    """

    kind: Kind
    one: Pass
    peer: int = -1


def timeline(shape: Shape, passes: Sequence[Sequence[Pass]]) -> list[list[Action]]:
    """What each stage does, in its order.

    Args:
        shape: how large the pipeline is.
        passes: the passes of each stage in their order, as `schedule` gives them.

    Returns:
        One list a stage.
    """
    times = _times(shape, passes)
    events: list[tuple[int, int, Pass]] = []
    for one, (begin, end) in times.items():
        events.append((begin, 1, one))
        follower = shape.next(one)
        if follower is not None and follower.stage != one.stage:
            # Before what begins at the same time, for that may need it.
            events.append((end, 0, one))
    actions: list[list[Action]] = [[] for _ in passes]
    for _, is_pass, one in sorted(events):
        if is_pass:
            actions[one.stage].append(Action(Kind.COMPUTE, one))
            continue
        follower = shape.next(one)
        assert follower is not None
        actions[one.stage].append(Action(Kind.SEND, one, follower.stage))
        actions[follower.stage].append(Action(Kind.RECEIVE, follower, one.stage))
    return actions


def bubble(shape: Shape, passes: Sequence[Sequence[Pass]]) -> float:
    """The share of a step's time in which a stage waits, if every part is equally fast and messages take no time."""
    busy = shape.micros * shape.chunks * (_FORWARD_TIME + _BACKWARD_TIME)
    return 1.0 - busy / max(end for _, end in _times(shape, passes).values())


def _times(shape: Shape, passes: Sequence[Sequence[Pass]]) -> dict[Pass, tuple[int, int]]:
    """Begin and end of each pass: a stage begins the next one of its list when it is free and the input is there."""
    times: dict[Pass, tuple[int, int]] = {}
    free = [0] * len(passes)
    waiting = [list(reversed(own)) for own in passes]
    while any(waiting):
        before = len(times)
        for stage, own in enumerate(waiting):
            while own and (begin := _arrival(shape, own[-1], times)) is not None:
                one = own.pop()
                begin = max(begin, free[stage])
                free[stage] = begin + (_BACKWARD_TIME if one.backward else _FORWARD_TIME)
                times[one] = (begin, free[stage])
        assert len(times) > before, "each pass follows those whose results it needs"
    return times


def _arrival(shape: Shape, one: Pass, times: dict[Pass, tuple[int, int]]) -> int | None:
    """When the input of a pass is there; None while that is not known."""
    found = 0
    for source in _sources(shape, one):
        if source not in times:
            return None
        found = max(found, times[source][1])
    return found


def _sources(shape: Shape, one: Pass) -> list[Pass]:
    """The passes whose results a pass needs: that of the neighbouring part, and backward its own forward pass."""
    own = [Pass(one.stage, one.chunk, one.micro)] if one.backward else []
    part = shape.part(one) + (1 if one.backward else -1)
    if not 0 <= part < shape.parts:
        return own
    chunk, stage = divmod(part, shape.stages)
    return [*own, Pass(stage, chunk, one.micro, one.backward)]
