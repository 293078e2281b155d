"""The same training on every layout: losses, gradient norms and weights are those of one process."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
from mf_parallel.testing import run_processes

PROGRAM = Path(__file__).parent / "programs" / "train_layouts.py"

STEPS = 20
CLOSE = 2e-5
"""Relative difference of losses and gradient norms: what another order of float32 sums makes in 20 steps."""

WEIGHTS_CLOSE = 1e-4
"""Absolute difference of weights: Adam divides by the root of the second moment, so rounding of tiny ones grows."""

NETWORK = (
    "model.model_config.num_layers=2",
    "model.model_config.num_heads=4",
    "model.model_config.n_kv_heads=2",
    # At a higher rate this network has steps whose gradients are so steep that rounding grows.
    "lr_schedule.learning_rate=2.e-3",
    "trainer.z_loss_factor=0.01",
)
DEEP = ("model.model_config.num_layers=4",)
DIVIDED = ("parallel_config.vocab_emb_dp=False",)
SEQUENCE = ("parallel_config.use_seq_parallel=True",)
PADDED = ("model.model_config.vocab_size=323",)
TIED = ("model.model_config.tie_word_embeddings=True",)
EXPERTS = (
    # The balance loss of half the rows is not half of that of all of them, nor is the room that experts have.
    "moe_config.expert_num=4",
    "moe_config.num_experts_chosen=2",
    "moe_config.capacity_factor=0.0",
    "moe_config.aux_loss_factor=0.0",
    "moe_config.z_loss_factor=0.01",
)
ACCUMULATED = ("runner_config.gradient_accumulation_steps=2",)
SIZES = "seq_length: 12, hidden_size: 16, num_layers: 2, num_heads: 4, vocab_size: 320"
QWEN3 = (
    "model.arch.type=Qwen3ForCausalLM",
    f"model.model_config={{type: Qwen3Config, {SIZES}, n_kv_heads: 2, kv_channels: 8, intermediate_size: 24}}",
)
GPT2 = (
    "model.arch.type=GPT2LMHeadModel",
    f"model.model_config={{type: GPT2Config, {SIZES}, bos_token_id: 1, eos_token_id: 2, pad_token_id: 0}}",
    "model.model_config.embedding_dropout_prob=0.0",
    "model.model_config.hidden_dropout_rate=0.0",
    "model.model_config.attention_dropout_rate=0.0",
)
DROPPING = (*GPT2[:2], "model.model_config.hidden_dropout_rate=0.2")
"""All three kinds of dropout."""
ALIBI = ("model.arch.type=Baichuan13BV2ForCausalLM", "model.model_config.n_kv_heads=4")
HEADS = ("model.model_config.n_kv_heads=4",)
ULYSSES = ("parallel_config.context_parallel_algo=ulysses_cp",)
ZERO = ("parallel.enable_parallel_optimizer=True", "parallel.parallel_optimizer_config.parallel_optimizer_threshold=0")
ZERO_2 = (*ZERO, "parallel.parallel_optimizer_config.gradient_accumulation_shard=True")


@dataclass(frozen=True)
class Layout:
    """One training: what differs from the run file, the processes that it runs on, and the training that it equals.

    `resume` names a training from whose checkpoint it goes on; `wrong_role` is the end of the names of parameters that
    the plan misunderstands.
    """

    name: str
    settings: tuple[str, ...] = ()
    size: int = 1
    first: int = 0
    steps: int = STEPS
    resume: str = ""
    like: str = "one"
    wrong_role: str = ""


def degrees(*, dp: int = 1, tp: int = 1, pp: int = 1, cp: int = 1, ep: int = 1, micros: int = 1) -> tuple[str, ...]:
    """Overrides that spread a global batch of 4 rows over processes and micro batches."""
    return (
        f"parallel_config.data_parallel={dp}",
        f"parallel_config.model_parallel={tp}",
        f"parallel_config.pipeline_stage={pp}",
        f"parallel_config.context_parallel={cp}",
        f"parallel_config.expert_parallel={ep}",
        f"parallel_config.micro_batch_num={micros}",
        f"runner_config.batch_size={4 // dp // micros}",
    )


REFERENCES = [
    Layout("one"),
    Layout("deep", DEEP, first=1),
    Layout("padded", PADDED, first=2),
    Layout("tied", TIED, first=3),
    Layout("heads", HEADS, first=2),
    Layout("experts", EXPERTS, first=1),
    Layout("qwen3", QWEN3, first=3),
    Layout("gpt2", GPT2, first=0),
    Layout("dropping", DROPPING, first=2),
    Layout("alibi", ALIBI, first=3),
]

HALF_WAY = Layout("half_way", (*degrees(tp=2), *DIVIDED), 2, steps=STEPS // 2)

WRONG = Layout("wrong", degrees(tp=2), 2, 2, wrong_role=".weight")

LAYOUTS = [
    HALF_WAY,
    Layout("resumed_on_pp2", degrees(pp=2, micros=2), 2, resume="half_way"),
    Layout("dp2_tp2_sequence", (*degrees(dp=2, tp=2), *SEQUENCE), 4),
    Layout("dp2_zero2", (*degrees(dp=2, micros=2), *ZERO_2, *ACCUMULATED), 2, 2),
    Layout("cp2", degrees(cp=2), 2),
    Layout("ep2", (*degrees(dp=2, ep=2), *EXPERTS), 2, like="experts"),
]
"""One of each kind: compiling is what takes time, so a layout costs as much as it has processes."""

INTERLEAVED = ("model.model_config.pp_interleave_num=2", *DEEP)

RECOMPUTED_LISTS = (
    "recompute_config.recompute=[1,0]",
    "recompute_config.select_recompute=[0,2]",
    "recompute_config.select_comm_recompute=[2,1]",
)
RECOMPUTED_CHUNKS = ("recompute_config.recompute=[[1,0],[0,1]]",)

MATRIX = [
    Layout("tp2_pp2_sequence_padded", (*degrees(tp=2, pp=2, micros=4), *SEQUENCE, *PADDED), 4, like="padded"),
    Layout("pp2_interleaved", (*degrees(pp=2, micros=2), *INTERLEAVED), 2, like="deep"),
    Layout("pp2_tied", (*degrees(pp=2, micros=2), *TIED), 2, 2, like="tied"),
    Layout("dp4", degrees(dp=4), 4),
    Layout("pp4", (*degrees(pp=4, micros=4), *DEEP), 4, like="deep"),
    Layout("dp2_pp2", degrees(dp=2, pp=2, micros=2), 4),
    Layout("tp2_whole_vocabulary", degrees(tp=2), 2, 2),
    Layout("tp2_padded", (*degrees(tp=2), *DIVIDED, *PADDED), 2, like="padded"),
    Layout("tp2_sequence_tied", (*degrees(tp=2), *SEQUENCE, *TIED), 2, 2, like="tied"),
    Layout("tp2_sequence_tied_divided", (*degrees(tp=2), *SEQUENCE, *TIED, *DIVIDED), 2, like="tied"),
    Layout("tp2_pp2_tied", (*degrees(tp=2, pp=2, micros=2), *TIED), 4, like="tied"),
    Layout("pp2_uneven", (*degrees(pp=2, micros=2), *DEEP, "model.model_config.offset=[1,-1]"), 2, 2, like="deep"),
    Layout("pp2_recomputed_lists", (*degrees(pp=2, micros=2), *DEEP, *RECOMPUTED_LISTS), 2, like="deep"),
    Layout("pp2_recomputed_chunks", (*degrees(pp=2, micros=2), *INTERLEAVED, *RECOMPUTED_CHUNKS), 2, 2, like="deep"),
    Layout("pp2_gpipe", (*degrees(pp=2, micros=4), "parallel.pipeline_config.pipeline_scheduler=gpipe"), 2),
    Layout("dp2_parts", (*degrees(dp=2, micros=2), "micro_batch_interleave_num=2"), 2, 2),
    Layout("dp2_accumulation", (*degrees(dp=2, micros=2), *ACCUMULATED), 2, 2),
    Layout("dp2_zero", (*degrees(dp=2), *ZERO), 2, 2),
    Layout("dp2_tp2_zero", (*degrees(dp=2, tp=2), *ZERO), 4),
    Layout("dp2_pp2_zero2", (*degrees(dp=2, pp=2, micros=2), *ZERO_2), 4),
    Layout(
        "dp4_zero_of_2",
        (*degrees(dp=4), *ZERO, "parallel.parallel_optimizer_config.optimizer_weight_shard_size=2"),
        4,
    ),
    Layout(
        "cp4_ulysses", (*degrees(cp=4), "parallel_config.context_parallel_algo=ulysses_cp", *HEADS), 4, like="heads"
    ),
    Layout(
        "cp4_hybrid",
        (
            *degrees(cp=4),
            "parallel_config.context_parallel_algo=hybrid_cp",
            "parallel_config.ulysses_degree_in_cp=2",
            *HEADS,
        ),
        4,
        like="heads",
    ),
    Layout("ep2_tp2", (*degrees(dp=2, ep=2, tp=2), *EXPERTS), 4, like="experts"),
    Layout("dp2_ep2_zero", (*degrees(dp=4, ep=2), *EXPERTS, *ZERO), 4, like="experts"),
    Layout("pp2_experts", (*degrees(pp=2, micros=2), *EXPERTS), 2, like="experts"),
    Layout("cp2_tp2", (*degrees(cp=2, tp=2), *DIVIDED), 4),
    Layout("cp2_pp2_tied", (*degrees(cp=2, pp=2, micros=2), *TIED), 4, like="tied"),
    Layout("tp2_accumulation", (*degrees(tp=2, micros=2), *DIVIDED, *ACCUMULATED), 2),
    Layout("tp2", (*degrees(tp=2), *DIVIDED), 2),
    Layout("qwen3_tp2_sequence", (*degrees(tp=2), *SEQUENCE, *QWEN3), 2, 2, like="qwen3"),
    Layout("qwen3_tp2_pp2", (*degrees(tp=2, pp=2, micros=2), *QWEN3), 4, like="qwen3"),
    Layout("gpt2_tp2_sequence", (*degrees(tp=2), *SEQUENCE, *GPT2), 2, like="gpt2"),
    Layout("gpt2_cp2", (*degrees(cp=2), *GPT2), 2, 2, like="gpt2"),
    Layout("dropping_dp2_pp2", (*degrees(dp=2, pp=2, micros=2), *DROPPING), 4, like="dropping"),
    Layout("alibi_tp2", (*degrees(tp=2), *ALIBI), 2, 2, like="alibi"),
]


ON_EIGHT = [
    Layout("dp2_tp2_pp2_sequence", (*degrees(dp=2, tp=2, pp=2, micros=2), *SEQUENCE), 8),
    Layout("dp2_cp2_tp2_zero", (*degrees(dp=2, cp=2, tp=2), *DIVIDED, *ZERO), 8),
    Layout("dp4_ep2_tp2", (*degrees(dp=4, ep=2, tp=2), *EXPERTS), 8, like="experts"),
]

EVALUATED = ("one", "resumed_on_pp2", "tp2", "cp2_tp2")
"""The layouts that evaluate the network in the end."""


def references(layouts: list[Layout]) -> list[Layout]:
    """The trainings that some layouts are compared with."""
    return [one for one in REFERENCES if any(layout.like == one.name for layout in layouts)]


def run_layouts(
    write_run: Callable[[Path], Path], folder: Path, layouts: list[Layout], workers: int, program: Path = PROGRAM
) -> Path:
    run_file = write_run(folder)
    common = ["runner_config.epochs=4", *NETWORK]
    entries = [
        {
            **asdict(layout),
            "settings": [*common, f"do_eval={layout.name in EVALUATED}", *layout.settings],
            "run_file": str(run_file),
        }
        for layout in layouts
    ]
    (folder / "layouts.json").write_text(json.dumps(entries))
    result = run_processes([str(program), str(folder)], workers=workers, directory=folder, timeout_s=1800)
    assert result.exit_status == 0, result.first_traceback or "\n".join(result.outputs)[-3000:]
    return folder


def compare(folder: Path, layout: Layout) -> None:
    found, wanted = (json.loads((folder / f"{each}.json").read_text()) for each in (layout.name, layout.like))
    trained = slice(found["begin"], layout.steps)
    assert found["tokens"] == wanted["tokens"][trained]
    for key in ("loss", "grad_norm"):
        np.testing.assert_allclose(found[key], wanted[key][trained], rtol=CLOSE, err_msg=key)
    if layout.steps < STEPS:
        return
    if found["evaluation"]:
        assert found["evaluation"] == pytest.approx(wanted["evaluation"], rel=CLOSE)
    one, other = (mf_ckpt.open(mf_ckpt.latest(folder / each / "checkpoint")) for each in (layout.like, layout.name))
    assert set(one) == set(other)
    assert set(one.optimizer) == set(other.optimizer)
    for tensors, wanted_tensors in ((other, one), (other.optimizer, one.optimizer)):
        for name in wanted_tensors:
            np.testing.assert_allclose(tensors[name], wanted_tensors[name], atol=WEIGHTS_CLOSE, err_msg=name)


@pytest.fixture(scope="module")
def trained(write_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    layouts = [*references(LAYOUTS), WRONG, *LAYOUTS]
    return run_layouts(write_run, tmp_path_factory.mktemp("layouts"), layouts, workers=4)


@pytest.mark.multiproc
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_trains_as_one_process_does(trained: Path, layout: Layout):
    compare(trained, layout)


@pytest.mark.multiproc
def test_a_plan_that_takes_pieces_for_copies_trains_differently(trained: Path):
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare(trained, WRONG)
    first, wanted = (json.loads((trained / f"{name}.json").read_text())["grad_norm"][0] for name in ("wrong", "one"))
    assert abs(first / wanted - 1) > 0.01


@pytest.fixture(scope="module")
def matrix(write_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_layouts(write_run, tmp_path_factory.mktemp("matrix"), [*references(MATRIX), *MATRIX], workers=4)


@pytest.mark.slow
@pytest.mark.multiproc
@pytest.mark.parametrize("layout", MATRIX, ids=lambda layout: layout.name)
def test_every_layout_trains_as_one_process_does(matrix: Path, layout: Layout):
    compare(matrix, layout)


@pytest.fixture(scope="module")
def on_eight(write_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_layouts(write_run, tmp_path_factory.mktemp("eight"), [*references(ON_EIGHT), *ON_EIGHT], workers=8)


@pytest.mark.slow
@pytest.mark.multiproc
@pytest.mark.parametrize("layout", ON_EIGHT, ids=lambda layout: layout.name)
def test_eight_processes_train_as_one_does(on_eight: Path, layout: Layout):
    compare(on_eight, layout)
