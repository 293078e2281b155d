"""LoRA weights, against what PEFT merged (cases of `data/lora`: base, adapters and merged weights made by PEFT)."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.dtypes import narrow_bf16, widen_bf16
from mf_ckpt.formats.safetensors_file.tensors import open_file
from mf_ckpt.lora.adapter import Adapter
from mf_ckpt.lora.config import LoraConfig
from mf_ckpt.lora.merged import MergedTensors, UnmergedTensors, check_not_merged, merge_record
from mf_ckpt.lora.mindpet import adapter_in, base_of, mindpet_tensors
from mf_ckpt.lora.peft import ADAPTER_CONFIG, WEIGHTS, is_adapter, open_adapter, usual_ties, write_adapter
from mf_ckpt.sources.arrays import ArraySource
from mf_config.problems import UserError

DATA = Path(__file__).parents[1] / "data" / "lora"
ADAPTERS = ("llama_gqa_lora", "llama_gqa_lora_rslora")
RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def base():
    return open_file(DATA / "base.safetensors")


@pytest.mark.parametrize("name", ADAPTERS)
def test_merged_weights_are_those_of_peft(base, name):
    """Cases c26 and c27: to 1e-6; what the adapter doesn't touch keeps its bits."""
    merged, expected = MergedTensors(base, open_adapter(DATA / name)), load_file(DATA / name / "merged.safetensors")
    assert set(merged) == set(base)
    for tensor in base:
        if tensor in expected:
            np.testing.assert_allclose(merged[tensor], expected[tensor], rtol=0, atol=1e-6)
        else:
            np.testing.assert_array_equal(merged.raw(tensor), base.raw(tensor))


def test_scales_are_alpha_over_rank_or_its_root_with_patterns():
    def scales(name):
        return {weight.split(".")[-2]: pair.scale for weight, pair in open_adapter(DATA / name).pairs.items()}

    assert scales("llama_gqa_lora") == dict.fromkeys(("q_proj", "v_proj", "o_proj", "down_proj"), 2.5)
    assert scales("llama_gqa_lora_rslora") == {"q_proj": 3.0, "k_proj": 6 / math.sqrt(2), "gate_proj": 1.5}


@pytest.mark.parametrize(
    ("pattern", "module", "found"),
    [
        ("q_proj", "layers.0.q_proj", True),
        ("q_proj", "layers.0.xq_proj", False),
        ("layers.1.q_proj", "model.layers.1.q_proj", True),
        ("layers.1.q_proj", "model.layers.11.q_proj", False),
        ("^model.layers.1.q_proj", "model.layers.1.q_proj", True),
        ("^layers.1.q_proj", "model.layers.1.q_proj", False),
        (r"layers\.\d+\.(q|k)_proj", "model.layers.7.k_proj", True),
        ("q_proj", "q_proj.inner", False),
    ],
)
def test_patterns_match_the_end_of_a_name(pattern, module, found):
    config = LoraConfig(4, 8, rank_pattern={pattern: 2}, alpha_pattern={pattern: 3})
    assert config.rank_of(module) == (2 if found else 4)
    assert config.scale_of(module, 2) == (1.5 if found else 4)


@pytest.mark.parametrize("name", ADAPTERS)
def test_unmerging_gives_the_base_bit_for_bit(base, name, tmp_path):
    adapter = open_adapter(DATA / name)
    merged = MergedTensors(base, adapter)
    save_file({tensor: merged[tensor] for tensor in merged}, tmp_path / "merged.safetensors")
    save_file({tensor: base[tensor].copy() for tensor in adapter.pairs}, tmp_path / "originals.safetensors")
    stored, originals = open_file(tmp_path / "merged.safetensors"), open_file(tmp_path / "originals.safetensors")
    unmerged = UnmergedTensors(stored, originals, adapter)
    assert set(unmerged) == set(base)
    assert all(unmerged.raw(tensor).tobytes() == base.raw(tensor).tobytes() for tensor in base)
    some = next(iter(adapter.pairs))
    assert unmerged.read(some, (slice(3, 5),)).tolist() == base[some][3:5].tolist()
    assert unmerged.info(some) == base.info(some)


def test_unmerging_with_originals_of_another_base_is_refused(base):
    adapter = open_adapter(DATA / ADAPTERS[0])
    merged, name = MergedTensors(base, adapter), next(iter(adapter.pairs))
    others = ArraySource({tensor: base[tensor] * np.float32(1.001) for tensor in base})
    with pytest.raises(UserError, match="don't give the merged weights"):
        UnmergedTensors(merged, others, adapter).raw(name)


def test_merging_twice_is_refused(base, tmp_path):
    adapter, other = (open_adapter(DATA / name) for name in ADAPTERS)
    merged = MergedTensors(base, adapter)
    with pytest.raises(UserError, match="merged into this base already"):
        MergedTensors(MergedTensors(merged, other), adapter)
    check_not_merged(None, adapter)
    record = json.loads(json.dumps(merge_record(adapter)))
    check_not_merged(record, other)
    write_adapter(tmp_path / "copy", adapter)
    both = merge_record(other, record)
    for again in (record, both):
        with pytest.raises(UserError, match="is merged into these weights already"):
            check_not_merged(again, open_adapter(tmp_path / "copy"))
    assert [len(entry["tensors"]) for entry in both["adapters"]] == [8, 6]
    with pytest.raises(UserError, match="no list of adapters"):
        check_not_merged({"adapters": 3}, adapter)


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_written_as_peft_writes_it(name, tmp_path):
    write_adapter(tmp_path / "a", open_adapter(DATA / name))
    assert (tmp_path / "a" / WEIGHTS).read_bytes() == (DATA / name / WEIGHTS).read_bytes()
    assert json.loads((tmp_path / "a" / ADAPTER_CONFIG).read_text()) == json.loads(
        (DATA / name / ADAPTER_CONFIG).read_text()
    )
    write_adapter(tmp_path / "a", open_adapter(tmp_path / "a"))
    assert is_adapter(tmp_path / "a") and not is_adapter(tmp_path)


def test_a_folder_that_holds_more_than_an_adapter_is_not_replaced(tmp_path):
    folder = shutil.copytree(DATA / ADAPTERS[0], tmp_path / "a")
    (folder / "model.safetensors").write_bytes(b"base")
    with pytest.raises(CheckpointError, match="holds something else"):
        write_adapter(folder, open_adapter(folder))
    assert (folder / "model.safetensors").read_bytes() == b"base"


DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.float32}


def small(dtype, *, rank=2, out=6, width=4, **settings):
    """A base of one weight, an adapter for it, and its matrices in float64."""
    arrays = {"w.weight": RANDOM.normal(size=(out, width))}
    matrices = {"a": RANDOM.normal(size=(rank, width)), "b": RANDOM.normal(size=(out, rank))}
    source = ArraySource({f"w.mindpet_delta_lora_{side}": array for side, array in matrices.items()})
    base = ArraySource({name: array.astype(DTYPES[dtype]) for name, array in arrays.items()}, {"w.weight": dtype})
    return base, adapter_in(source, alpha=3.0, **settings), matrices


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_are_kept_and_rounded_once(dtype):
    base, adapter, matrices = small(dtype)
    merged = MergedTensors(base, adapter)
    assert merged.info("w.weight") == base.info("w.weight")
    exact = base["w.weight"].astype(np.float64) + 1.5 * (matrices["b"] @ matrices["a"])
    if dtype == "BF16":
        np.testing.assert_array_equal(merged["w.weight"], widen_bf16(narrow_bf16(exact.astype(np.float32))))
    else:
        np.testing.assert_array_equal(merged["w.weight"], exact.astype(DTYPES[dtype]))


@given(data=st.data())
def test_a_part_of_a_merged_tensor_is_that_part_of_the_whole(data):
    base, adapter, _ = small("F32")
    merged = MergedTensors(base, adapter)
    part = tuple(slice(*sorted((data.draw(st.integers(0, n)), data.draw(st.integers(0, n))))) for n in (6, 4))
    np.testing.assert_allclose(merged.read("w.weight", part), merged["w.weight"][part], rtol=1e-6)
    out = np.empty_like(merged["w.weight"][part])
    merged.raw_into("w.weight", part, out)
    np.testing.assert_array_equal(out, merged.raw("w.weight", part))


def saved(folder, tensors, **settings):
    """An adapter in the form of PEFT, made by hand."""
    folder.mkdir(exist_ok=True)
    named = {f"base_model.model.{name}": np.asarray(array, np.float32) for name, array in tensors.items()}
    save_file({name: np.ascontiguousarray(array) for name, array in named.items()}, folder / WEIGHTS)
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "bias": "none", **settings}
    (folder / ADAPTER_CONFIG).write_text(json.dumps(config))
    return folder


A, B = RANDOM.normal(size=(2, 4)), RANDOM.normal(size=(6, 2))
PAIR = {"w.lora_A.weight": A, "w.lora_B.weight": B}
EMBEDDING = {"embed_tokens.lora_embedding_A": RANDOM.normal(size=(2, 5)), "embed_tokens.lora_embedding_B": B}


def test_modules_saved_whole_and_biases_replace_those_of_the_base(tmp_path):
    head, bias = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=6)
    adapter = open_adapter(saved(tmp_path / "a", {**PAIR, "lm_head.weight": head, "w.bias": bias}))
    zeros = {"w.weight": (6, 4), "w.bias": (6,), "lm_head.weight": (3, 4)}
    base = ArraySource({name: np.zeros(shape, np.float16) for name, shape in zeros.items()})
    merged = MergedTensors(base, adapter)
    np.testing.assert_array_equal(merged["lm_head.weight"], head.astype(np.float32).astype(np.float16))
    np.testing.assert_array_equal(merged["w.bias"], bias.astype(np.float32).astype(np.float16))
    np.testing.assert_allclose(merged["w.weight"], 2 * B @ A, rtol=2e-3)
    unmerged = UnmergedTensors(merged, base, adapter)
    assert all(not unmerged[name].any() for name in zeros)


def test_an_embedding_is_written_as_one(tmp_path):
    for settings in ({}, {"fan_in_fan_out": True}):
        adapter = open_adapter(saved(tmp_path / "a", {**PAIR, **EMBEDDING}, **settings))
        write_adapter(tmp_path / "b", adapter)
        assert set(open_file(tmp_path / "b" / WEIGHTS)) == set(open_file(tmp_path / "a" / WEIGHTS))
        assert open_adapter(tmp_path / "b").fingerprint() == adapter.fingerprint()


def test_a_base_of_transposed_matrices_gets_the_transpose(tmp_path):
    adapter = open_adapter(saved(tmp_path / "a", PAIR, fan_in_fan_out=True))
    merged = MergedTensors(ArraySource({"w.weight": np.zeros((4, 6), np.float32)}), adapter)
    np.testing.assert_allclose(merged["w.weight"], 2 * (B @ A).T, rtol=1e-5)
    np.testing.assert_allclose(merged.read("w.weight", (slice(1, 3), slice(2, 5))), 2 * (B @ A).T[1:3, 2:5], rtol=1e-5)


def test_an_embedding_alone_changes_and_its_tied_head_becomes_a_tensor(tmp_path):
    adapter = open_adapter(saved(tmp_path / "a", EMBEDDING))
    table = RANDOM.normal(size=(5, 6)).astype(np.float32)
    base = ArraySource({"embed_tokens.weight": table})
    ties = usual_ties(base, {"tie_word_embeddings": True})
    assert ties == {"lm_head.weight": "embed_tokens.weight"}
    merged = MergedTensors(base, adapter, ties)
    assert merged.untied == ("lm_head.weight",) and set(merged) == {"embed_tokens.weight", "lm_head.weight"}
    np.testing.assert_array_equal(merged["lm_head.weight"], table)
    change = 2 * (B @ EMBEDDING["embed_tokens.lora_embedding_A"]).T
    np.testing.assert_allclose(merged["embed_tokens.weight"], table + change, rtol=1e-5)
    assert list(UnmergedTensors(merged, base, adapter, ties)) == ["embed_tokens.weight"]


def test_a_tied_head_that_is_changed_becomes_a_tensor(tmp_path):
    matrices = {"lm_head.lora_A.weight": A, "lm_head.lora_B.weight": B}
    adapter = open_adapter(saved(tmp_path / "a", matrices))
    table = RANDOM.normal(size=(6, 4)).astype(np.float32)
    base = ArraySource({"model.embed_tokens.weight": table})
    merged = MergedTensors(base, adapter, usual_ties(base, {"tie_word_embeddings": True}))
    np.testing.assert_array_equal(merged["model.embed_tokens.weight"], table)
    np.testing.assert_allclose(merged["lm_head.weight"], table + 2 * B @ A, rtol=1e-5)
    with pytest.raises(UserError, match=r"1 tensors are not in the base: 'lm_head\.weight'"):
        MergedTensors(base, adapter, usual_ties(base, {"tie_word_embeddings": False}))


def test_ties_that_are_not_touched_stay(base):
    adapter = open_adapter(DATA / ADAPTERS[0])
    assert MergedTensors(base, adapter, {"lm_head.weight": next(iter(set(base) - set(adapter.pairs)))}).untied == ()
    assert usual_ties(base, None) == {} == usual_ties(base, {"tie_word_embeddings": True})


def test_all_that_does_not_fit_the_base_is_listed(tmp_path):
    tensors = {
        **PAIR,
        "v.lora_A.weight": A,
        "v.lora_B.weight": B,
        "layers.0.q_proj.lora_A.weight": A,
        "layers.0.q_proj.lora_B.weight": B,
        "i.lora_A.weight": A,
        "i.lora_B.weight": B,
        "gone.bias": np.zeros(3),
    }
    adapter = open_adapter(saved(tmp_path / "a", tensors))
    shapes = {"w.weight": (6, 4), "v.weight": (4, 6), "layer.0.q_proj.weight": (6, 4)}
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    with pytest.raises(UserError) as caught:
        MergedTensors(ArraySource({**arrays, "i.weight": np.zeros((6, 4), np.int32)}), adapter)
    message = str(caught.value)
    assert "3 faults" in message
    assert "v.weight is [4, 6] in the base, [6, 4] in the adapter" in message
    assert "i.weight is I32 in the base. Allowed: F64, F32, F16, BF16" in message
    assert (
        "2 tensors are not in the base: 'layers.0.q_proj.weight', 'gone.bias', did you mean layer.0.q_proj.weight"
        in message
    )


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F32"])
def test_sums_that_the_type_of_the_base_cannot_hold_are_refused(dtype):
    largest = 65_504.0 if dtype == "F16" else 1.5 * 2.0**127
    matrices = {"w.mindpet_delta_lora_a": np.full((1, 2), largest), "w.mindpet_delta_lora_b": np.ones((3, 1))}
    base = ArraySource({"w.weight": np.full((3, 2), largest, DTYPES[dtype])}, {"w.weight": dtype})
    merged = MergedTensors(base, adapter_in(ArraySource(matrices), alpha=1))
    with pytest.raises(UserError, match=f"'w.weight': merged, it has values that {dtype} can't hold"):
        merged.raw("w.weight")
    matrices["w.mindpet_delta_lora_b"] *= -1
    assert not MergedTensors(base, adapter_in(ArraySource(matrices), alpha=1))["w.weight"].any()


def test_a_weight_that_is_changed_and_replaced_is_refused(tmp_path):
    adapter = open_adapter(saved(tmp_path / "a", {**PAIR, "w.weight": np.zeros((6, 4))}))
    with pytest.raises(UserError, match=r"w\.weight has a change and a replacement"):
        MergedTensors(ArraySource({"w.weight": np.zeros((6, 4), np.float32)}), adapter)


TENSOR_FAULTS = {
    "DoRA": (
        {**PAIR, "w.lora_magnitude_vector": np.ones(6)},
        "'base_model.model.w.lora_magnitude_vector' is not understood",
    ),
    "bias of LoRA": ({**PAIR, "w.lora_B.bias": np.ones(6)}, "not understood"),
    "named adapter": ({"w.lora_A.default.weight": A, "w.lora_B.default.weight": B}, "2 faults: .*not understood"),
    "half": ({"w.lora_A.weight": A}, "w: has '.*lora_A.weight' alone"),
    "none": ({"w.bias": A}, "holds no LoRA matrices"),
    "shapes": ({"w.lora_A.weight": A, "w.lora_B.weight": B.T}, r"A \[2, 4\] and B \[2, 6\] are not"),
    "convolution": ({"w.lora_A.weight": A[..., None], "w.lora_B.weight": B}, r"A \[2, 4, 1\] and B"),
    "rank": ({"w.lora_A.weight": A[:1], "w.lora_B.weight": B[:, :1]}, "have rank 1, its settings say 2"),
}


@pytest.mark.parametrize("fault", TENSOR_FAULTS)
def test_tensors_that_make_no_sense_are_refused(tmp_path, fault):
    tensors, message = TENSOR_FAULTS[fault]
    with pytest.raises(UserError, match=message):
        open_adapter(saved(tmp_path / "a", tensors))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type is 'IA3'. Allowed: LORA"),
        ({"use_dora": True}, "use_dora is True, which is not supported"),
        ({"layer_replication": [[0, 1]]}, "layer_replication"),
        ({"ensure_weight_tying": True}, "ensure_weight_tying"),
        ({"init_lora_weights": "pissa_niter_4"}, "changes the base too"),
        ({"r": 0, "lora_alpha": "4"}, "r is 0. Allowed: .*; lora_alpha is '4'. Allowed: a number"),
        ({"r": True}, "r is True"),
        ({"rank_pattern": {"(": 3}}, "'\\(' is no regular expression"),
        ({"alpha_pattern": {"w": None}}, "alpha_pattern must map patterns to numbers"),
    ],
)
def test_settings_that_are_not_supported_are_refused(tmp_path, settings, message):
    with pytest.raises(CheckpointError, match=f"adapter_config.json: .*{message}"):
        open_adapter(saved(tmp_path / "a", PAIR, **settings))


def test_a_pickled_adapter_is_refused(tmp_path):
    folder = saved(tmp_path / "a", PAIR)
    (folder / WEIGHTS).rename(folder / "adapter_model.bin")
    with pytest.raises(CheckpointError, match="pickle only, which is never read"):
        open_adapter(folder)


@pytest.mark.parametrize("spelling", ["mindpet_delta_lora_{}", "tk_delta_lora_{}"])
@pytest.mark.parametrize("sides", ["ab", "AB"])
def test_weights_of_mindformers_are_found_beside_their_base(spelling, sides):
    names = [f"layers.0.wq.{spelling.format(side)}" for side in sides]
    weight = np.ones((6, 4), np.float32)
    both = ArraySource({names[0]: A, "layers.0.wq.weight": weight, names[1]: B})
    adapter, base = adapter_in(both, alpha=6), base_of(both)
    assert list(base) == ["layers.0.wq.weight"]
    np.testing.assert_allclose(MergedTensors(base, adapter)["layers.0.wq.weight"], weight + 3 * B @ A, rtol=1e-5)
    rooted = adapter_in(both, alpha=6, use_rslora=True)
    assert rooted.pairs["layers.0.wq.weight"].scale == pytest.approx(6 / math.sqrt(2))


def test_weights_of_mindformers_that_do_not_fit_are_refused():
    a, b = "x.mindpet_delta_lora_a", "x.mindpet_delta_lora_b"
    for arrays, message in (
        ({"w.weight": A}, "holds no LoRA matrices"),
        ({a: A}, "x: has one matrix alone"),
        ({a: A, b: B.T}, "are not .r, in. and .out, r."),
        ({a: A, "x.tk_delta_lora_a": A, b: B}, "x: has two matrices a"),
        ({a: A.astype(np.int32), b: B}, "its matrices are I32"),
    ):
        with pytest.raises(UserError, match=message):
            adapter_in(ArraySource(arrays), alpha=1)


def to_mindformers(name):
    return name.replace("self_attn.q_proj", "attention.wq").replace("self_attn.k_proj", "attention.wk")


def to_hugging_face(name):
    return name.replace("attention.wq", "self_attn.q_proj").replace("attention.wk", "self_attn.k_proj")


@pytest.mark.parametrize(("name", "alpha"), [(ADAPTERS[0], 10), (ADAPTERS[1], 6), (ADAPTERS[1], 7)])
def test_an_adapter_goes_from_peft_to_mindformers_and_back(base, tmp_path, name, alpha):
    """MindFormers has one rank and one alpha; ranks, patterns and roots of PEFT must come through all the same."""
    tensors = list(mindpet_tensors(open_adapter(DATA / name).renamed(to_mindformers), alpha=alpha))
    names = {name for name, _, _ in tensors}
    assert "model.layers.1.attention.wq.mindpet_delta_lora_b" in names
    assert {bits.shape[1 if name.endswith("_b") else 0] for name, bits, _ in tensors} == {4}
    stored = ArraySource({name: bits for name, bits, _ in tensors}, {name: dtype for name, _, dtype in tensors})
    back = adapter_in(stored, alpha=alpha).renamed(to_hugging_face)
    write_adapter(tmp_path / "back", back)
    expected = load_file(DATA / name / "merged.safetensors")
    merged = MergedTensors(base, open_adapter(tmp_path / "back"))
    for tensor, array in expected.items():
        np.testing.assert_allclose(merged[tensor], array, rtol=0, atol=1e-6)


def test_matrices_of_the_usual_scale_keep_their_bits():
    adapter = open_adapter(DATA / ADAPTERS[0])
    for name, bits, dtype in mindpet_tensors(adapter, alpha=10):
        own = adapter.pairs[name.rsplit(".", 1)[0] + ".weight"]
        side = own.a if name.endswith("_a") else own.b
        np.testing.assert_array_equal(bits, adapter.tensors.raw(side))
        assert dtype == "F32"


def test_ranks_that_differ_are_written_as_patterns(tmp_path):
    matrices = {"x.1.mindpet_delta_lora_a": A[:1], "x.1.mindpet_delta_lora_b": B[:, :1]}
    for module in ("x.2", "x.3"):
        matrices |= {f"{module}.mindpet_delta_lora_a": A, f"{module}.mindpet_delta_lora_b": B}
    write_adapter(tmp_path / "a", adapter_in(ArraySource(matrices), alpha=6))
    document = json.loads((tmp_path / "a" / ADAPTER_CONFIG).read_text())
    assert (document["r"], document["rank_pattern"]) == (2, {r"x\.1": 1})
    assert {pair.scale for pair in open_adapter(tmp_path / "a").pairs.values()} == {3, 6}


def test_what_mindformers_lacks_is_refused(tmp_path):
    adapter = open_adapter(saved(tmp_path / "a", {**PAIR, "w.bias": np.zeros(6), **EMBEDDING}))
    with pytest.raises(UserError, match=r"no LoRA for w\.bias, embed_tokens\.weight"):
        list(mindpet_tensors(adapter, alpha=1))


def test_an_adapter_is_what_its_parts_say():
    _, adapter, _ = small("F32")
    assert isinstance(adapter, Adapter)
    assert adapter.fingerprint() == small_copy(adapter).fingerprint()


def small_copy(adapter):
    """The same adapter with its matrices stored under other names."""
    arrays = {name.replace("mindpet", "tk"): adapter.tensors[name] for name in adapter.tensors}
    return adapter_in(ArraySource(arrays), alpha=3.0)
