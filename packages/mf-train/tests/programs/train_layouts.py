"""Trains a small network on several layouts, one after another, in the processes of one job.

Run it with a folder that holds `layouts.json`, a list of objects that are read as `Layout`. For each of them it leaves
`NAME.json` with losses and gradient norms, and a checkpoint in `NAME/`.
"""

import json
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from mf_config import decode, load
from mf_config.layout import TensorLayout
from mf_config.sections.context import ContextSection
from mf_models.device import prepare
from mf_parallel.axes import AxisCommunicators
from mf_parallel.collectives import connect
from mf_parallel.plan import ParallelPlan
from mf_parallel.process_group import ProcessGroup
from mf_parallel.rules import Role
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of
from mf_train.layout.process_count import check_process_count
from mf_train.layout.processes import Processes


@dataclass(frozen=True)
class Layout:
    """What `layouts.json` says of one layout.

    Attributes:
        name: its name.
        run_file: the run configuration.
        settings: what differs from it.
        size: number of processes.
        first: the process at rank 0 of the layout.
        steps: steps to train.
        resume: name of a layout trained before, from whose checkpoint this one goes on; empty for none.
        like: for the test.
        wrong_role: end of the names of parameters whose gradients the plan shall misunderstand; empty for none.
    """

    name: str
    run_file: str
    settings: list[str]
    size: int
    first: int
    steps: int
    resume: str
    like: str
    wrong_role: str


def state_of(job: Job, step: int) -> dict[str, object]:
    return {"counters": {}, "total_steps": 0, "loss_scale": {}, "data": job.data.training.state(step)}


def misunderstanding(plan: ParallelPlan, names: str) -> ParallelPlan:
    """A plan that takes the pieces of some matrices for copies of one, whose gradients are added up."""
    wrong = {
        name: replace(parameter, role=Role.PER_HEAD, layout=TensorLayout(parameter.layout.shape))
        if name.endswith(names)
        else parameter
        for name, parameter in plan.parameters.items()
    }
    return replace(plan, parameters=wrong)


def train(layout: Layout, folder: Path, rank: int) -> None:
    settings = [f"output_dir={folder / layout.name}", f"use_parallel={layout.size > 1}", *layout.settings]
    config = decode(load(layout.run_file, settings))
    check_process_count(config, layout.size)
    processes = Processes(AxisCommunicators(mesh_of(config, layout.size), rank - layout.first, layout.first))
    job = Job(config, processes)
    if layout.wrong_role:
        # The network is divided by the right plan, and only the step is made by the wrong one; each is made once.
        assert job.weights
        job.division.weights.plan = misunderstanding(job.division.plan, layout.wrong_role)
        assert job.step
        job.division.weights.plan = job.division.plan
    begin = 0
    if layout.resume:
        (path,) = (folder / layout.resume / "checkpoint").iterdir()
        begin = job.data.training.step_of(job.checkpoints.resume(path)["data"])
    # Gradients that overflow change nothing on any rank, or what follows would differ.
    assert job.step(job.examples(begin), scale=math.inf, number=begin + 1, learning_rate=0.1).overflow
    outcomes = [
        job.step(job.examples(step), scale=1.0, number=step + 1, learning_rate=job.learning_rate(step))
        for step in range(begin, layout.steps)
    ]
    evaluation = job.evaluate() if config.do_eval else {}
    with job.checkpoints as checkpoints:
        if processes.is_main:
            checkpoints.save(layout.steps, state_of(job, layout.steps), 0, False)
            found = {
                "begin": begin,
                "loss": [outcome.loss for outcome in outcomes],
                "grad_norm": [outcome.grad_norm for outcome in outcomes],
                "tokens": [outcome.tokens for outcome in outcomes],
                "evaluation": evaluation,
            }
            (folder / f"{layout.name}.json").write_text(json.dumps(found))
        else:
            checkpoints.take_part()
    processes.wait_for_all()
    job.data.close()


def main(folder: Path) -> None:
    group = ProcessGroup.from_environment()
    prepare(ContextSection(device_target="CPU"))
    connect(group)
    for entry in json.loads((folder / "layouts.json").read_text()):
        layout = Layout(**entry)
        if layout.first <= group.rank < layout.first + layout.size:
            train(layout, folder, group.rank)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
