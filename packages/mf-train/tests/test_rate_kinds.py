"""Learning rates of layers and of groups of parameters."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor, nn, ops

from mf_config import ConfigError, RunConfig, decode, load
from mf_models.kernels import select_kernels
from mf_parallel.collectives import Communicator
from mf_parallel.gradients import TokenSums
from mf_train.assemble import Job
from mf_train.layout.processes import Processes
from mf_train.optimizer import UpdateRule, slots_like_parameters
from mf_train.step.graphs import Reduction
from mf_train.step.rate_kinds import RateKind, rate_kinds
from mf_train.step.training_step import StepRules, TrainingStep
from mf_train.step.update import ParameterUpdate
from mf_train.task import Examples

NAMES = [
    "model.tok_embeddings.embedding_weight",
    "model.layers.0.attention.wq.weight",
    "model.layers.1.attention.wq.weight",
    "model.norm_out.weight",
    "lm_head.weight",
]
GROUPS = """
grouped_lr_schedule:
  default: {type: ConstantWarmUpLR, learning_rate: 1.e-3}
  grouped:
    - {type: LinearWithWarmUpLR, params: ['.*wq.*', 'lm_head.weight'], learning_rate: 4.e-3, total_steps: 4}
"""


def test_rates_fall_from_block_to_block_towards_the_input():
    kinds = rate_kinds(NAMES, 2, 0.5, ())
    assert [kinds(name).factor for name in NAMES] == [0.125, 0.25, 0.5, 1.0, 1.0]
    # What stands beside a block has its rate; blocks that predict further tokens have that of the head.
    assert kinds("model.layers.0.attention.wq.adapter.a").factor == 0.25
    assert kinds("model.layers.2.eh_proj.weight").factor == 1.0
    assert {rate_kinds(NAMES, 2, 1.0, ())(name) for name in NAMES} == {RateKind(0, 1.0)}


def test_the_first_group_that_fits_counts():
    kinds = rate_kinds(NAMES, 2, 1.0, ([".*wq.*"], [r"model\.layers\.1\..*", "lm_head.weight", "norm"]))
    assert [kinds(name).schedule for name in NAMES] == [0, 1, 1, 0, 2]


class Sum(nn.Cell):
    """Numbers whose loss is their sum: each gradient is 1."""

    loss_names = ()

    def __init__(self):
        super().__init__()
        for number in range(3):
            self.insert_param_to_cell(f"w{number}", Parameter(Tensor([10.0], ms.float32), name=f"w{number}"))

    def construct(self):
        return self.w0 + self.w1 + self.w2


def losses(model: Any, input_ids_BT: Any, labels_BT: Any, document_starts_BT: Any) -> Any:
    return model(), ()


def own_rate(update: Any, learning_rate: Any) -> Any:
    return learning_rate


def descend(parameter: Any, slots: Any, gradient: Any, rate: Any, weight_decay: float) -> Any:
    return ops.assign(parameter, parameter - rate * gradient)


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_each_parameter_moves_by_its_rate(micro_batches: int):
    model = Sum()
    of_name = {"w0": RateKind(), "w1": RateKind(1, 0.5), "w2": RateKind()}
    rule = UpdateRule(slots_like_parameters(), own_rate, descend)
    update = ParameterUpdate(list(model.trainable_params()), rule, 0.0, of_name.__getitem__)
    assert update.rate_kinds == (RateKind(), RateKind(1, 0.5))
    mean = TokenSums([(1,)] * 3, Communicator(0, range(1)))
    reduction = Reduction(mean, select_kernels().global_norm)
    step = TrainingStep(model, losses, update, reduction, StepRules(micro_batches=micro_batches))
    ids = np.zeros((2, 1), np.int32)
    examples = Examples(ids, ids, np.ones((2, 1), np.float32))
    step.compile(examples)
    for number, rates in enumerate(((0.25, 2.0), (0.5, 0.0)), 1):
        step(examples, scale=1.0, number=number, learning_rate=rates)
    # The loss of a step is the mean over its rows or micro batches, each of which has the gradient 1.
    moved = np.concatenate([10.0 - parameter.asnumpy() for parameter in update.parameters])
    assert moved / moved[0] == pytest.approx([1.0, 2.0 / 0.75, 1.0])


def job_of(path: Path, **changes: Any) -> Job:
    config: RunConfig = decode(load(str(path)))
    return Job(replace(config, **changes), Processes.alone())


@pytest.mark.usefixtures("graph_mode")
def test_a_run_has_rates_of_its_layers(run_file: Path):
    job = job_of(run_file, layer_scale=True, layer_decay=0.5)
    whole = job.learning_rate(1)
    assert job.rates(1) == pytest.approx((whole / 4, whole / 2, whole))
    assert [kind.factor for kind in job.update.rate_kinds] == [0.25, 0.5, 1.0]
    assert job_of(run_file, layer_decay=0.5).rates(1) == whole


@pytest.fixture
def grouped_file(run_file: Path) -> Path:
    lines = run_file.read_text().splitlines(keepends=True)
    run_file.write_text("".join(line for line in lines if not line.startswith("lr_schedule:")) + GROUPS)
    return run_file


@pytest.mark.usefixtures("graph_mode")
def test_a_run_has_schedules_of_groups(grouped_file: Path):
    job = job_of(grouped_file)
    assert [kind.schedule for kind in job.update.rate_kinds] == [0, 1]
    assert [job.rates(update) for update in (0, 3)] == [pytest.approx((1e-3, 4e-3)), pytest.approx((1e-3, 1e-3))]
    both = job_of(grouped_file, layer_scale=True, layer_decay=0.5)
    # The embedding, the block without and with the projection of queries, the norm behind it, the head.
    assert both.rates(0) == pytest.approx((1e-3 / 4, 1e-3 / 2, 4e-3 / 2, 1e-3, 4e-3))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("params: ['.*wq.*', 'lm_head.weight'], ", "", r"grouped\[0\]\.params: is missing: which parameters"),
        (
            "learning_rate: 1.e-3}",
            "learning_rate: 1.e-3, params: ['.*']}",
            r"params: only schedules of grouped_lr_sched",
        ),
        ("'.*wq.*'", "'*wq'", r"params: '\*wq' is not a regular expression"),
    ],
)
def test_schedules_without_parameters_are_refused(grouped_file: Path, old: str, new: str, message: str):
    text = grouped_file.read_text()
    assert old in text
    grouped_file.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        decode(load(str(grouped_file)))
