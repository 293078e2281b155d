from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mf_config.bind import Binding, bind_section
from mf_config.components import components
from mf_config.decode import decode
from mf_config.document import load
from mf_config.dump import to_plain, to_yaml
from mf_config.sections.context import ContextSection
from mf_config.sections.run import RunConfig
from mf_config.sections.runner import LossScaleSection, RunnerSection, WrapperSection
from mf_config.yaml_reader import read_text

Write = Callable[..., str]

WORDS = st.sampled_from(
    ["None", "null", "~", "", "yes", "Off", "010", "1e-5", "1:30", "4_096", "3", "a: b", "# c", "x\ny"]
)
TEXTS = (WORDS | st.text(st.characters(codec="utf-8"))).filter(lambda text: text.isprintable() or text == "x\ny")
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def again(config: RunConfig) -> RunConfig:
    """The configuration written and read back, every warning an error."""
    binding = Binding()
    section = bind_section(RunConfig, read_text(to_yaml(config), "run.yaml").root, "", binding)
    assert [problem for problem in binding.problems if "has no effect" not in problem.what] == []
    assert isinstance(section, RunConfig)
    return section


def decoded(write: Write, text: str) -> RunConfig:
    return decode(load(write(text)))


def test_a_dump_decodes_to_the_same_configuration(write: Write, toys: None, train_file: str) -> None:
    config = decoded(write, train_file)
    assert decoded(write, to_yaml(config)) == config


def test_every_default_is_written_out(write: Write, toys: None, train_file: str) -> None:
    plain = to_plain(decoded(write, train_file))
    assert plain["runner_config"]["sink_size"] == -1
    assert plain["optimizer"] == {"type": "ToyAdam", "learning_rate": 0.001, "betas": [0.9, 0.999]}
    assert plain["callbacks"] == [{"type": "ToyPrinter", "every": 5}]
    assert plain["train_dataset_task"] == {"type": "ToyRows"}


def test_other_scripts_stay_readable(write: Write, toys: None, train_file: str) -> None:
    config = replace(decoded(write, train_file), output_dir="./输出")
    assert "output_dir: ./输出\n" in to_yaml(config)


def test_numbers_and_words_in_text_get_quotation_marks(write: Write, toys: None, train_file: str) -> None:
    config = replace(decoded(write, train_file), output_dir="010", load_checkpoint="1e-5")
    assert "output_dir: '010'\n" in to_yaml(config)
    assert "load_checkpoint: '1e-5'\n" in to_yaml(config)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_configuration_survives_a_round_trip(
    write: Write, toys: None, train_file: str, data: st.DataObject
) -> None:
    draw = data.draw
    scale = POSITIVE | st.builds(LossScaleSection, loss_scale_value=POSITIVE, scale_window=st.integers(1, 10**9))
    family = components("model")["ToyConfig"]
    config = decoded(write, train_file)
    config = replace(
        config,
        seed=draw(st.integers(0, 2**63)),
        output_dir=draw(TEXTS),
        do_eval=draw(st.booleans()),
        input_data=draw(st.none() | st.lists(TEXTS).map(tuple)),
        context=ContextSection(mode=draw(st.sampled_from([0, 1, "GRAPH_MODE", "PYNATIVE_MODE"])), device_target="CPU"),
        runner_config=RunnerSection(epochs=draw(st.integers(1, 10**9)), sink_size=draw(st.integers(-1, 10**6))),
        runner_wrapper=WrapperSection(scale_sense=draw(scale), use_clip_grad=draw(st.booleans())),
        model=replace(
            config.model,
            model_config=family(
                rope=draw(st.none() | st.dictionaries(TEXTS, ANYTHING, max_size=4)),
                eos_token_id=draw(st.integers(0) | st.lists(st.integers(0), min_size=1).map(tuple)),
            ),
        ),
    )
    assert again(config) == config
