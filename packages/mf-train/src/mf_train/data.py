"""The data of a run: tokenizer, rows, batches, and the part of each batch that this process takes."""

import json
import logging
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import mf_data
from mf_config import RunConfig, UserError
from mf_config.schema import TRAIN_MODES
from mf_config.sections.dataset import DatasetSection
from mf_data.files import write_atomically
from mf_data.reading.batches import Batches
from mf_data.reading.reading_ahead import ReadAhead, read_ahead
from mf_data.reading.worker_tuning import TunedReadAhead
from mf_data.rows.data_set import Rows
from mf_data.rows.row_order import Shuffle
from mf_data.rows.settings import RowSettings
from mf_data.tokenizers.base import Tokenizer, token_bytes
from mf_train.device_queue import DeviceQueue
from mf_train.layout.plans import micro_batches, reads_all_rows
from mf_train.layout.processes import Processes
from mf_train.layout.row_division import row_division
from mf_train.task import Examples

_log = logging.getLogger(__name__)

_Section = TypeVar("_Section")


class RunData:
    """What a run reads, each part made when it is first asked for."""

    def __init__(self, config: RunConfig, processes: Processes):
        """Takes the run configuration and this process's place among the others."""
        self._config = config
        self._processes = processes
        self._readers: dict[Batches, ReadAhead | TunedReadAhead] = {}
        self._queue: DeviceQueue | None = None

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The run's tokenizer; a run that trains new weights makes it from its text where there is none yet.

        Raises:
            UserError: there is none, training and evaluation have different ones, or the model's vocabulary is too
                small for it.
        """
        config = self._config
        section = self._tokenizer_section()
        makes_weights = config.run_mode in TRAIN_MODES and config.load_checkpoint is None
        loader = demanded(config.train_dataset).data_loader if makes_weights else None
        _log.info("preparing the tokenizer")
        # The main process may have to train it; the others then find its file.
        with self._processes.main_first():
            tokenizer = mf_data.open_tokenizer(section, loader)
        held, needed = config.model.model_config.vocab_size, tokenizer.vocab_size
        if held < needed:
            raise UserError(
                f"model.model_config.vocab_size: {held}, but the tokenizer has {needed} entries. "
                f"Allowed: {needed} or more."
            )
        return tokenizer

    @cached_property
    def training(self) -> Batches:
        """The training rows in global batches."""
        section = demanded(self._config.train_dataset)
        rows = self._rows(section, self._config.train_dataset_task, "training")
        batches = self._batches(section, rows, self.rows_per_step, section.data_loader.shuffle)
        steps = batches.steps_per_epoch * self._config.runner_config.epochs
        self._read(batches, section, steps, reads_all=reads_all_rows(self._config))
        return batches

    @property
    def rows_per_step(self) -> int:
        """Rows that all processes together read in one training step."""
        parts = micro_batches(self._config, self._processes.axes.mesh)
        return self._config.runner_config.batch_size * parts * self._processes.row_groups

    @cached_property
    def evaluation(self) -> Batches:
        """The held-out rows in global batches, in their own order."""
        section, rows = demanded(self._config.eval_dataset), self.evaluation_rows
        global_batch_size = self._config.runner_config.batch_size * self._processes.row_groups
        batches = self._batches(section, rows, global_batch_size, shuffle=False)
        self._read(batches, section, batches.steps_per_epoch)
        return batches

    @cached_property
    def evaluation_rows(self) -> Rows:
        """The held-out rows."""
        return self._rows(demanded(self._config.eval_dataset), self._config.eval_dataset_task, "evaluation")

    def examples(self, batches: Batches, step: int) -> Examples:
        """This process's rows, or tokens of rows, of one batch, as the task's loss takes them.

        Args:
            batches: `training` or `evaluation`.
            step: the batch's number, from 0.
        """
        batch = self._readers[batches].batch(step)
        ignored = self._config.model.model_config.ignore_token_id
        examples: Examples = self._config.trainer.examples(batch.columns, ignored)
        self._check_labels(examples)
        # Rows that only fill the batch up count in no loss.
        examples.weights_BT[batch.valid :] = 0.0
        return examples if self._places is None else examples.tokens(self._places)

    def _check_labels(self, examples: Examples) -> None:
        """Refuse classes that the network does not have; ids of tokens were checked when they were made."""
        classes, largest = self._config.model.model_config.num_labels, examples.labels_BT.max()
        if classes is not None and largest >= classes:
            raise UserError(
                f"model.model_config.num_labels: {classes}, but a text has the class {largest}. "
                f"Allowed: from {largest + 1}; or texts with classes from 0 to {classes - 1}."
            )

    @cached_property
    def _places(self) -> list[int] | None:
        """Where this process's tokens stand in their rows; None for all."""
        axes = self._processes.axes
        if axes.degree("cp") == 1:
            return None
        length: int = self._config.model.model_config.seq_length
        return row_division(self._config, axes.mesh).places(length, axes.position("cp"))

    def next_examples(self, step: int) -> Examples:
        """This process's rows of a training step, of one step after another.

        On an Ascend in sink mode they are tensors that wait on the device already.

        Args:
            step: the batch's number, from 0; after the first call each is one more than the last.
        """
        if self._config.context.device_target != "Ascend" or not self._config.runner_config.sink_mode:
            return self.examples(self.training, step)
        if self._queue is None:
            steps = range(step, self.training.steps_per_epoch * self._config.runner_config.epochs)
            self._queue = DeviceQueue(partial(self.examples, self.training), steps)
        return self._queue.next()

    def close(self) -> None:
        """Stop reading ahead."""
        if self._queue is not None:
            self._queue.close()
        for reader in self._readers.values():
            reader.close()

    def token_bytes(self) -> NDArray[np.int64]:
        """Bytes of text behind each label that the model scores, int64 [labels].

        A vocabulary may be larger than the tokenizer's; classes stand for no text.
        """
        classes = self._config.model.model_config.num_labels
        if classes is not None:
            return np.zeros(classes, np.int64)
        counts = np.zeros(self._config.model.model_config.vocab_size, np.int64)
        known = token_bytes(self.tokenizer)
        counts[: len(known)] = known
        return counts

    def _tokenizer_section(self) -> Any:
        config = self._config
        common = config.tokenizer
        evaluation = config.eval_dataset and (config.eval_dataset.tokenizer or common)
        if config.run_mode not in TRAIN_MODES:
            return evaluation
        training = demanded(config.train_dataset).tokenizer or common
        if config.do_eval and evaluation != training:
            raise UserError("eval_dataset.tokenizer: differs from the training's. Allowed: the same section, or none.")
        return training

    def _rows(self, section: DatasetSection, task: Any, purpose: str) -> Rows:
        model_config = self._config.model.model_config
        seq_length, settings = model_config.seq_length, RowSettings.of(section, model_config.vocab_size)
        rows = mf_data.open_dataset(section.data_loader, task, self.tokenizer, seq_length, settings=settings)
        _log.info("%s text: %d rows of %d tokens", purpose, len(rows), seq_length)
        return rows

    def _batches(self, section: DatasetSection, rows: Rows, global_batch_size: int, shuffle: Shuffle) -> Batches:
        return Batches(
            rows,
            global_batch_size=global_batch_size,
            seed=self._config.seed if section.seed is None else section.seed,
            shuffle=shuffle,
            drop_remainder=section.drop_remainder,
            repeat=section.repeat,
        )

    def _read(self, batches: Batches, section: DatasetSection, stop: int, *, reads_all: bool = False) -> None:
        """Have the batches made ahead, up to the step `stop`: this process's rows, or all."""
        reader = read_ahead(
            batches,
            stop,
            rank=0 if reads_all else self._processes.row_group,
            ranks=1 if reads_all else self._processes.row_groups,
            workers=section.num_parallel_workers,
            each=section.prefetch_size,
            processes=section.python_multiprocessing,
        )
        # What a profile measures shall not change meanwhile.
        tunes = self._config.auto_tune and not self._config.profile
        self._readers[batches] = self._tuned(reader, section) if tunes else reader

    def _tuned(self, reader: ReadAhead, section: DatasetSection) -> TunedReadAhead:
        """A reader whose workers are as many as the run needs; a file says how many that are."""
        config = self._config
        purpose = "training" if section is config.train_dataset else "evaluation"
        file = Path(config.filepath_prefix) / f"autotune_{purpose}_{self._processes.rank}.json"

        def tell(workers: int, waited: float) -> None:
            found = {"num_parallel_workers": workers, "prefetch_size": section.prefetch_size, "waited": waited}
            write_atomically(file, (json.dumps(found) + "\n").encode())
            _log.info("auto_tune: %s waited %.1f %% of its time for rows; workers: %d", purpose, 100 * waited, workers)

        return TunedReadAhead(reader, each=section.prefetch_size, interval=config.autotune_per_step, tell=tell)


def demanded(section: _Section | None) -> _Section:
    """A section that the rules of the configuration demand for the present run mode."""
    assert section is not None, "mf_config.rules lets no configuration pass without the sections of its run mode"
    return section
