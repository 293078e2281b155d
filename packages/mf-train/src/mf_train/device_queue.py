"""Rows that MindSpore's data pipeline carries into a queue of the device, ahead of the steps that take them."""

from collections.abc import Callable
from dataclasses import astuple, fields
from typing import Any

import mindspore as ms
from mindspore.dataset import GeneratorDataset

from mf_data.reading.mindspore_source import Arrays, MindSporeSource
from mf_train.task import Examples

_JUST_TAKE = ms.JitConfig(jit_level="O0")
"""The graph that takes a batch from the queue has no operator to optimize."""


class DeviceQueue:
    """The batches of consecutive steps, on the device.

    Each step is still launched by itself, so that its loss is known and a stop comes in time.
    """

    def __init__(self, examples_of: Callable[[int], Examples], steps: range):
        """Begins to fill the queue.

        Args:
            examples_of: makes this process's rows of a step; a thread of the pipeline calls it, step after step.
            steps: the steps, from the next one on.
        """
        first = _arrays_of(examples_of(steps.start))

        def arrays_of(step: int) -> Arrays:
            return _arrays_of(examples_of(step))

        names = [field.name for field in fields(Examples)][: len(first)]
        self._source = MindSporeSource(steps, arrays_of, names)
        self._pipeline = GeneratorDataset(self._source, names, shuffle=False, num_parallel_workers=1)
        signature = tuple(ms.Tensor(array) for array in first)
        self._take: Callable[[], tuple[ms.Tensor, ...]] = ms.data_sink(
            _same, self._pipeline, jit_config=_JUST_TAKE, input_signature=signature
        )

    def next(self) -> Examples:
        """The rows of the next step, tensors on the device.

        Raises:
            UserError: a row is damaged.
            OSError: a worker process ended.
        """
        try:
            return Examples(*self._take())
        except RuntimeError as error:
            # The pipeline ends where a batch can't be made; who waits for that batch learns only that there is none.
            if self._source.failure is not None:
                raise self._source.failure from error
            raise

    def close(self) -> None:
        """Stop the pipeline."""
        # `data_sink` leaves the sending end of the queue here.
        sender = self._pipeline.__transfer_dataset__
        sender.stop_send()
        sender.release()


def _arrays_of(examples: Examples) -> Arrays:
    """The arrays that a batch has, in the order of the fields; only the last one may be missing."""
    return tuple(array for array in astuple(examples) if array is not None)


def _same(*tensors: Any) -> tuple[Any, ...]:
    return tensors
