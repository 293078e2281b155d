"""The sections of optimizers, written as MindFormers users write them."""

from pathlib import Path

import pytest

from mf_config import ConfigError, decode, load
from mf_config.components import components, type_name
from mf_config.schema import tag_of

MOMENTS = "beta1: 0.9, beta2: 0.95, eps: 1.e-8"

SECTIONS = {
    "FP32StateAdamWeightDecay": (f"{MOMENTS}, weight_decay: 0.1", {"beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1}),
    "fp32_adamw": ("learning_rate: 5.e-5", {"learning_rate": 5e-5, "beta1": 0.9, "beta2": 0.999, "eps": 1e-6}),
    "FusedAdamWeightDecay": (f"{MOMENTS}, offload: True", {"offload": True, "weight_decay": 0.0}),
    "fused_adamw": (MOMENTS, {"offload": False}),
    "FusedCastAdamWeightDecay": ("clip_norm: 2", {"clip_norm": 2.0}),
    "AdamWeightDecay": (MOMENTS, {"beta1": 0.9}),
    "adamw": ("beta1: 0.9, beta2: 0.95, eps: 0.00000001, weight_decay: 0.05", {"eps": 1e-8, "weight_decay": 0.05}),
    "AdamWeightDecayX": ("beta1: 0.9", {"eps": 1e-8, "beta2": 0.999}),
    "Adam": ("use_nesterov: True", {"eps": 1e-8, "use_nesterov": True}),
    "adam": (MOMENTS, {"use_amsgrad": False}),
    "SGD": ("momentum: 0.9, nesterov: True", {"momentum": 0.9, "nesterov": True}),
    "sgd": ("learning_rate: 0.1", {"learning_rate": 0.1, "momentum": 0.0}),
    "Momentum": ("momentum: 0.9", {"momentum": 0.9, "learning_rate": None}),
    "Adagrad": ("accum: 0.2", {"accum": 0.2}),
    "adagrad": ("update_slots: False", {"accum": 0.1}),
    "AdaFactor": ("eps: [1e-30, 1e-3]", {"eps": (1e-30, 1e-3), "scale_parameter": True}),
    "adafactor": ("beta1: None", {"beta1": None, "relative_step": True}),
    "Came": ("decay_rate: 0.7", {"eps": (1e-30, 1e-3, 1e-16), "beta3": 0.99, "scale_parameter": False}),
    "PmaAdamW": ("fused_algo: sma, betas: [0.9, 0.95]", {"fused_algo": "sma", "betas": (0.9, 0.95), "fused_num": 10}),
    "FusedPmaAdamW": ("ema_alpha: 0.5", {"ema_alpha": 0.5, "interleave_step": 1000}),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_optimizers_are_read(section_of, name):
    text, expected = SECTIONS[name]
    section = section_of("optimizer", f"{{type: {name}, {text}}}")
    assert type(section) is components("optimizer")[name]
    assert {key: getattr(section, key) for key in expected} == expected
    assert not tag_of(type(section)).pending


def test_adamw_runs(section_of):
    section = section_of("optimizer", "{type: AdamW, betas: [0.9, 0.95], eps: 1.e-8, weight_decay: 0.01}")
    assert (section.betas, section.eps, section.weight_decay) == ((0.9, 0.95), 1e-8, 0.01)
    assert not tag_of(type(section)).pending


def test_the_short_name_adamw_is_not_the_class_adamw(section_of):
    # So it is in MindFormers, where adamw has no bias correction.
    assert type_name(section_of("optimizer", "{type: adamw}")) == "AdamWeightDecay"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{type: AdamW, beta1: 0.9}", "section.beta1: unknown key."),
        ("{type: FP32StateAdamWeightDecay, betas: [0.9, 0.95]}", "section.betas: unknown key."),
        ("{type: FP32StateAdamWeightDecay, beta2: 1}", "section.beta2: 1 is out of range. Allowed: from 0, below 1."),
        ("{type: FP32StateAdamWeightDecay, eps: 0}", "section.eps: 0 is out of range. Allowed: above 0."),
        ("{type: Momentum}", "section.momentum: is missing. Allowed: a number."),
        ("{type: Adam, use_nesterov: True, use_amsgrad: True}", "section.use_amsgrad: does not go with use_nesterov."),
        ("{type: Adam, beta1: 1}", "section.beta1: 1 is out of range. Allowed: from 0, below 1."),
        ("{type: SGD, nesterov: True}", "section.nesterov: needs momentum above 0 and dampening 0."),
        (
            "{type: Came, eps: [1e-30, 1e-3]}",
            "section.eps: [1e-30, 0.001] is not the right count. Allowed: three numbers.",
        ),
        ("{type: AdaFactor, eps: [1e-30]}", "section.eps: [1e-30] is not the right count. Allowed: two numbers."),
        ("{type: Came, beta1: None}", "section.beta1: 0 and None leave no first moment, which the update is."),
        ("{type: Came, beta3: 1}", "section.beta3: 1 is out of range. Allowed: from 0, below 1."),
        ("{type: AdaFactor, beta1: 1}", "section.beta1: 1 is out of range. Allowed: from 0, below 1."),
        ("{type: Came, warmup_init: True}", "section.warmup_init: True needs relative_step: True."),
        ("{type: PmaAdamW, betas: [0.9]}", "section.betas: [0.9] is out of range."),
        ("{type: Came, compression: True}", "section.compression: True is not allowed. Allowed: False."),
        ("{type: FP32StateAdamWeightDeca}", "Did you mean FP32StateAdamWeightDecay?"),
    ],
)
def test_mistakes_are_named(section_of, text, message):
    with pytest.raises(ConfigError) as raised:
        section_of("optimizer", text)
    assert message in str(raised.value)


def test_a_run_needs_a_rate_unless_the_optimizer_has_its_own(run_file: Path):
    without = ["lr_schedule=None", "optimizer={type: Came}"]
    with pytest.raises(ConfigError, match=r"optimizer\.learning_rate: .*is missing, and there is no lr_schedule"):
        decode(load(str(run_file), without), to_run=True)
    relative = decode(load(str(run_file), [*without, "optimizer.relative_step=True"]), to_run=True)
    assert relative.optimizer.rate(0, 12) == 0.01


def test_every_optimizer_is_tried_here():
    assert {*SECTIONS, "AdamW"} == set(components("optimizer"))
