"""What an evaluation of a run computes: the configured metrics over the held-out rows of all processes."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from mf_config import RunConfig, UserError
from mf_train.data import RunData
from mf_train.evaluation.evaluator import EvaluationData, Evaluator, HitsOfRows
from mf_train.evaluation.text_generation import WritingJob, text_generator
from mf_train.evaluation.weighed_answers import weigh
from mf_train.evaluation.written_answers import mean_scores, questions_of
from mf_train.layout.processes import Processes
from mf_train.metric import ChoiceMetric, HitMetric, Hits, Metric, TextMetric
from mf_train.task import Examples


class RunEvaluation:
    """Evaluates the network of a run as often as it is asked; compiles once."""

    def __init__(
        self,
        config: RunConfig,
        data: RunData,
        processes: Processes,
        model: Any,
        losses: Callable[..., Any],
        *,
        is_whole: bool,
    ):
        """Takes the run and its network.

        Args:
            config: the run configuration.
            data: what the run reads.
            processes: this process among the others.
            model: the cells that this process computes.
            losses: gives the losses of rows, see `mf_train.evaluation.evaluator.Evaluator`.
            is_whole: whether these cells are the whole network with whole weights.
        """
        self._config = config
        self._data = data
        self._processes = processes
        self._model = model
        self._losses_of_rows = losses
        self._is_whole = is_whole

    def values(self) -> dict[str, float]:
        """Name of each metric's result to its value.

        Raises:
            UserError: a metric needs what the network or the rows can't give here.
        """
        metrics, values = self._config.metrics, {}
        of_likelihoods = [metric for metric in metrics if isinstance(metric, Metric)]
        if of_likelihoods:
            sums = self._losses.sums(self._processes.sum)
            values = {name: value for metric in of_likelihoods for name, value in metric.values(sums).items()}
        of_hits = [metric for metric in metrics if isinstance(metric, HitMetric)]
        if of_hits:
            self._check_whole("a metric of the likeliest labels sees all of the logits")
            sums = self._hits.sums(self._processes.sum)
            hits = Hits(round(sums.loss), sums.tokens)
            values |= {name: value for metric in of_hits for name, value in metric.hit_values(hits).items()}
        of_choices = [metric for metric in metrics if isinstance(metric, ChoiceMetric)]
        if of_choices:
            rows = self._data.evaluation_rows
            questions = weigh(rows, self._data.evaluation, self._losses, self._processes)
            values |= {name: value for metric in of_choices for name, value in metric.choice_values(questions).items()}
        of_text = [metric for metric in metrics if isinstance(metric, TextMetric)]
        return {**values, **self._scores(of_text)} if of_text else values

    @cached_property
    def _losses(self) -> Evaluator:
        return Evaluator(self._model, self._losses_of_rows, self._evaluated)

    @cached_property
    def _hits(self) -> Evaluator:
        return Evaluator(self._model, HitsOfRows(self._model), self._evaluated)

    @property
    def _evaluated(self) -> EvaluationData:
        return EvaluationData(self._batches, self._data.token_bytes())

    def _batches(self) -> Iterable[Examples]:
        """This process's held-out rows."""
        batches = self._data.evaluation
        return (self._data.examples(batches, step) for step in range(batches.steps_per_epoch))

    def _scores(self, metrics: Sequence[TextMetric]) -> dict[str, float]:
        """The scores of what the model writes on the prompts of the held-out rows."""
        self._check_whole("a model writes text where a process has all of it")
        write, config = text_generator(), self._config.model.model_config
        questions = list(questions_of(self._batches(), self._data.tokenizer))
        room = config.seq_length - max((len(question.prompt) for question in questions), default=0)
        was_training = self._model.training
        self._model.set_train(False)
        answers = write(
            WritingJob(
                model=self._model,
                config=config,
                tokenizer=self._data.tokenizer,
                prompts=[question.prompt for question in questions],
                max_new_tokens=min(room, config.max_new_tokens or room),
            )
        )
        self._model.set_train(was_training)
        return mean_scores(metrics, questions, answers, self._processes.sum)

    def _check_whole(self, why: str) -> None:
        """Refuse a metric where processes divide the network or the tokens of a row."""
        if not self._is_whole or self._processes.size > self._processes.row_groups:
            raise UserError(f"metric: {why}. Allowed: processes that differ in their rows alone, or other metrics.")
