"""Answers what a run takes on given devices: an estimate or why there is none, and layouts that fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mf_config import ConfigError, Document, Problem, RunConfig, UserError
from mf_config.command_line import FAILURE, OK, USER_ERROR
from mf_parallel.planner.card import DeviceCard
from mf_parallel.planner.estimate import Estimate, estimate
from mf_parallel.planner.layout import BackEnd
from mf_train.layout_search import Proposal, proposals
from mf_train.plan_page import plan_page, proposals_page
from mf_train.planning import check_plannable, devices_of, layout_of, located, place_of


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        document: the run configuration as written.
        config: the same, decoded.
        card: the device.
        devices: ranks of the job; None for as many as the degrees multiply to.
        back_end: who executes the layout.
        searches: whether other layouts are wanted even where this one fits.
    """

    document: Document
    config: RunConfig
    card: DeviceCard
    devices: int | None = None
    back_end: BackEnd = BackEnd.EXPLICIT
    searches: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found.

    Attributes:
        estimate: of the layout of the configuration; None where it is impossible.
        problems: why it is impossible.
        proposals: layouts that fit; None where nobody looked for any.
    """

    estimate: Estimate | None
    problems: tuple[Problem, ...]
    proposals: Sequence[Proposal] | None

    @property
    def status(self) -> int:
        """The exit status: a failure where the layout does not fit, a user's mistake where it is impossible."""
        if self.estimate is None:
            return USER_ERROR
        return OK if self.estimate.fits else FAILURE

    def page(self) -> str:
        """The answer as text; problems are not in it."""
        parts = [] if self.estimate is None else [plan_page(self.estimate)]
        if self.proposals is not None:
            parts.append(proposals_page(self.proposals))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "estimate": None if self.estimate is None else self.estimate.to_json(),
            "problems": [problem.as_json() for problem in self.problems],
            "proposals": [
                {"changes": dict(one.changes), "estimate": one.estimate.to_json()} for one in self.proposals or ()
            ],
        }


def answer(question: Question) -> Answer:
    """What a run takes; where its layout is impossible or does not fit, also layouts that do.

    Raises:
        UserError: the configuration is not one of training.
    """
    config, devices = question.config, question.devices or devices_of(question.config)
    check_plannable(config)
    found, problems = None, ()
    try:
        _check_devices(question, devices)
        layout = layout_of(config, devices, question.back_end)
        found = estimate(layout, question.card, config.model.model_config.compute_dtype)
    except UserError as error:
        problems = located(error, question.document).problems
    searches = question.searches or found is None or not found.fits
    others = proposals(config, devices, question.card, question.back_end) if searches else None
    return Answer(found, problems, others)


def _check_devices(question: Question, devices: int) -> None:
    """Refuse a number of devices that the degrees don't multiply to; data_parallel 1 stands for what they leave."""
    config, product = question.config, devices_of(question.config)
    written = config.parallel_config.data_parallel if config.use_parallel else 1
    others = product // written
    if devices == product or (config.use_parallel and written == 1 and devices % others == 0):
        return
    path = "parallel_config.data_parallel" if config.use_parallel else "use_parallel"
    what = f"the degrees multiply to {product}, but there are {devices} devices"
    allowed = f"data_parallel {devices // others}" if devices % others == 0 else f"multiples of {others} devices"
    if not config.use_parallel:
        what, allowed = f"False, but there are {devices} devices", "True"
    raise ConfigError([Problem(place_of(question.document, path), path, what, allowed)])
