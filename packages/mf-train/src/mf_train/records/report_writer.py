"""Keeps `report.html` of a run up to date."""

import json
import logging
from collections.abc import Callable

from mf_data.files import write_atomically
from mf_train.callback import Callback, Evaluation, RunInfo
from mf_train.records.json_lines import to_json
from mf_train.records.samples import Parts
from mf_train.report import read_run, render

_log = logging.getLogger(__name__)


class ReportWriter(Callback):
    """Notes at the beginning what records of steps leave out; writes the report after evaluations and at the end."""

    def __init__(self, run: RunInfo, environment: dict[str, str], samples: Callable[[], list[Parts]]):
        """Takes the run.

        Args:
            run: whose report it is.
            environment: what it runs on, name to value.
            samples: gives some rows that it reads.
        """
        self._run = run
        self._environment = environment
        self._samples = samples

    def on_train_begin(self) -> None:
        """Note what the run runs on, and at its first start what it reads."""
        output = self._run.output
        write_atomically(output.environment, (json.dumps(self._environment, indent=2) + "\n").encode())
        if self._run.first_step == 0 or not output.samples.exists():
            lines = (to_json({"parts": parts}) + "\n" for parts in self._samples())
            write_atomically(output.samples, "".join(lines).encode())

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Write the report anew."""
        self._write()

    def close(self) -> None:
        """Write the report of all that was done, also after a failure."""
        self._write()

    def _write(self) -> None:
        output = self._run.output
        if not output.metrics.is_file():
            return
        try:
            write_atomically(output.report, render(read_run(output)).encode())
        except OSError as error:
            # The run's own results are worth more than its picture.
            _log.error("%s is not written: %s", output.report, error)
