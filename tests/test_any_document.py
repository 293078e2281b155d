"""Whatever stands in a file, the answer is a configuration or a list of problems, never a traceback."""

from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mf_config import ConfigError, examine, load
from mf_config.components import components, kinds
from mf_config.outline import outline
from mf_config.problems import errors_in
from mf_config.schema import declarations
from mf_config.sections.run import RunConfig

KEYS = sorted({entry.name for entry in outline()} | {"type", "pet_type", "base_config", "<<", "colour"})
TYPES = sorted({name for kind in kinds() for name in components(kind)})
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**40),
    st.floats(allow_nan=True),
    st.sampled_from(["", "None", "1e-5", "Flase", "010", "1:30", "0x1f", "2026-12-02", "{path}/x", *TYPES]),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


def section_of(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """A section of some component of a kind, with values of any sort under its keys."""

    def keys_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
        declared = sorted(declarations(components(kind)[name]))
        values = st.dictionaries(st.sampled_from(declared), VALUES, max_size=5) if declared else st.just({})
        return values.map(lambda chosen: {"type": name, **chosen})

    return st.sampled_from(sorted(components(kind))).flatmap(keys_of)


FREE = st.dictionaries(st.sampled_from(sorted(declarations(RunConfig))), VALUES, max_size=8)
CHOSEN = st.fixed_dictionaries(
    {"run_mode": st.sampled_from(["train", "finetune", "eval", "predict"])},
    optional={
        "optimizer": section_of("optimizer"),
        "lr_schedule": section_of("lr_schedule"),
        "trainer": section_of("trainer"),
        "metric": section_of("metric"),
        "callbacks": st.lists(section_of("callback"), max_size=3),
        "processor": section_of("processor"),
        "train_dataset_task": section_of("dataset"),
        "train_dataset": st.fixed_dictionaries(
            {"data_loader": section_of("data_loader")}, optional={"tokenizer": section_of("tokenizer")}
        ),
        "model": st.fixed_dictionaries({"model_config": section_of("model")}, optional={"arch": VALUES}),
    },
)
DOCUMENTS = FREE | CHOSEN | st.tuples(FREE, CHOSEN).map(lambda both: {**both[0], **both[1]})


@given(DOCUMENTS)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_answered(tmp_path: Path, content: dict[str, Any]) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    try:
        examined = examine(load(path))
    except ConfigError as error:
        assert errors_in(error.problems)
        return
    assert (examined.config is None) == bool(errors_in(examined.problems))
    lines = path.read_text(encoding="utf-8").count("\n") + 1
    assert all(0 <= problem.location.line <= lines for problem in examined.problems)
