"""Answers what a run takes on given devices: an estimate or why there is none, and layouts that fit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mf_config import ConfigError, Document, Problem, RunConfig, UserError
from mf_config.command_line import FAILURE, OK, USER_ERROR
from mf_parallel.planner.card import DeviceCard
from mf_parallel.planner.estimate import Estimate, estimate
from mf_parallel.planner.layout import BackEnd
from mf_train.layout.automatic_limits import check_automatic
from mf_train.layout.impossible import located, place_of
from mf_train.layout.plans import mesh_of
from mf_train.planning.compiled_ranks import CompiledRank, compile_ranks, ranks_of
from mf_train.planning.layout_of_run import back_end_of, check_plannable, devices_of, layout_of
from mf_train.planning.layout_search import Proposal, proposals
from mf_train.planning.page import plan_page, proposals_page


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        document: the run configuration as written.
        overrides: what differs in it from its file.
        config: the same, decoded.
        card: the device.
        devices: ranks of the job; None for as many as the degrees multiply to.
        back_end: who executes the layout; None for who executes the run.
        searches: whether other layouts are wanted even where this one fits.
        compiles: the ranks whose steps shall be compiled, see `compiled_ranks.ranks_of`; empty for none.
    """

    document: Document
    overrides: tuple[str, ...]
    config: RunConfig
    card: DeviceCard
    devices: int | None = None
    back_end: BackEnd | None = None
    searches: bool = False
    compiles: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found.

    Attributes:
        estimate: of the layout of the configuration; None where it is impossible.
        problems: why it is impossible.
        proposals: layouts that fit; None where nobody looked for any.
        compiled: the ranks whose steps were compiled.
    """

    estimate: Estimate | None
    problems: tuple[Problem, ...]
    proposals: Sequence[Proposal] | None
    compiled: tuple[CompiledRank, ...] = ()

    @property
    def status(self) -> int:
        """The exit status: a failure where the layout does not fit or compile, 2 where it is impossible."""
        if self.estimate is None:
            return USER_ERROR
        failed = any(one.failure for one in self.compiled)
        return FAILURE if failed or not self.estimate.fits else OK

    def page(self) -> str:
        """The answer as text; problems are not in it."""
        parts = [] if self.estimate is None else [plan_page(self.estimate)]
        if self.proposals is not None:
            parts.append(proposals_page(self.proposals))
        if self.compiled:
            parts.append("\n".join(map(str, self.compiled)))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "estimate": None if self.estimate is None else self.estimate.to_json(),
            "problems": [problem.as_json() for problem in self.problems],
            "proposals": [
                {"changes": dict(one.changes), "estimate": one.estimate.to_json()} for one in self.proposals or ()
            ],
            "compiled": [asdict(one) for one in self.compiled],
        }


def answer(question: Question) -> Answer:
    """What a run takes; where its layout is impossible or does not fit, also layouts that do.

    Raises:
        UserError: the configuration is not one of training, or there is no such rank to compile.
    """
    config, devices = question.config, question.devices or devices_of(question.config)
    check_plannable(config)
    back_end = question.back_end or back_end_of(config, devices)
    found: Estimate | None = None
    problems: tuple[Problem, ...] = ()
    try:
        _check_devices(question, devices)
        if question.back_end is None and back_end is BackEnd.MINDSPORE:
            check_automatic(config, mesh_of(config, devices))
        layout = layout_of(config, devices, back_end)
        found = estimate(layout, question.card, config.model.model_config.compute_dtype)
    except UserError as error:
        problems = located(error, question.document).problems
    searches = question.searches or found is None or not found.fits
    others = proposals(config, devices, question.card, back_end) if searches else None
    compiled: tuple[CompiledRank, ...] = ()
    if found is not None and question.compiles:
        ranks = ranks_of(question.compiles, devices)
        source, mode = (question.document.file, question.overrides), config.parallel.mode
        compiled = tuple(compile_ranks(*source, found.layout, ranks, mode))
    return Answer(found, problems, others, compiled)


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
