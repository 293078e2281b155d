"""The sections of metrics and tasks, written as MindFormers users write them."""

import pytest

from mf_config import ConfigError
from mf_config.components import components, type_name
from mf_config.schema import tag_of

METRICS = {
    "ADGENMetric": ("", {}),
    "EmF1Metric": ("", {}),
    "PromptAccMetric": ("", {}),
    "MultipleChoiceMetric": (", normalize: byte", {"normalize": "byte"}),
    "EntityScore": ("", {}),
    "Accuracy": (", eval_type: multilabel", {"eval_type": "multilabel"}),
    "SQuADMetric": (", dataset_dir: squad", {"dataset_dir": "squad", "n_best_size": 20, "max_answer_len": 30}),
}
BUILT = ("ADGENMetric", "EmF1Metric", "PromptAccMetric", "MultipleChoiceMetric", "Accuracy")
TASKS = (
    "TextClassificationTrainer",
    "MultiModalToTextGenerationTrainer",
    "ImageToTextGenerationTrainer",
    "GeneralTaskTrainer",
    "general",
)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_read(section_of, name):
    text, expected = METRICS[name]
    section = section_of("metric", f"{{type: {name}{text}}}")
    assert type_name(section) == name
    assert {key: getattr(section, key) for key in expected} == expected
    assert bool(tag_of(type(section)).pending) == (name not in BUILT)


@pytest.mark.parametrize("name", TASKS)
def test_tasks_are_read(section_of, name):
    section = section_of("trainer", f"{{type: {name}, model_name: gpt2_txtcls}}")
    assert type(section) is components("trainer")[name]
    assert section.model_name == "gpt2_txtcls"
    assert bool(tag_of(type(section)).pending) == (name != "TextClassificationTrainer")


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("metric", "{type: Accuracy, eval_type: clasification}", "Did you mean classification?"),
        ("metric", "{type: ADGENMetrics}", "Did you mean ADGENMetric?"),
        ("trainer", "{type: CausalLanguageModelTrainer}", "Did you mean CausalLanguageModelingTrainer?"),
        ("trainer", "{type: general, modelname: gpt2}", "Did you mean model_name?"),
    ],
)
def test_mistakes_are_named(section_of, kind, text, message):
    with pytest.raises(ConfigError) as raised:
        section_of(kind, text)
    assert message in str(raised.value)


def test_every_metric_and_task_is_tried_here():
    assert {*METRICS, "PerplexityMetric"} == set(components("metric"))
    assert {*TASKS, "CausalLanguageModelingTrainer"} == set(components("trainer"))
