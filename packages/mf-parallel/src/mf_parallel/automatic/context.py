"""What MindSpore is told of a job that it divides by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindspore as ms
from mindspore.parallel._cost_model_context import cost_model_context

_CALL_DEPTH = 20_000
"""Nested calls of graph code that MindSpore accepts; each parameter of an update adds some. Its own limit is 1,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomaticParallelism:
    """The settings of one job.

    Attributes:
        search: how strategies are looked for that no operator has been given: recursive_programming,
            dynamic_programming or sharding_propagation. None where all are given.
        memory_weight: how much recursive_programming cares for memory; small favours data parallelism.
        row_ranks: how many ranks share the rows of a step.
        whole_rows: whether each rank is given the rows of all, of which the compiler cuts its own; else its own alone.
        stages: pipeline stages.
        chunks: parts of the network that each stage has.
        scheduler: order of forward and backward passes in a pipeline.
        divides_optimizer: whether ranks that hold the same weights share them and the optimizer's state.
        sharing_ranks: how many ranks share one copy then; -1 for all that hold the same.
        divides_gradients: whether they share gradients too, while micro batches add up.
        exchanges: whether AllToAll may be used in place of AllGather and a cut.
        strategy_file: where the layouts of the parameters are written when the step is compiled; None for nowhere.
        earlier_strategy: such a file of an earlier run, which has to say the same; None for none.
    """

    search: str | None = None
    memory_weight: float = 0.1
    row_ranks: int = 1
    whole_rows: bool = False
    stages: int = 1
    chunks: int = 1
    scheduler: str = "1f1b"
    divides_optimizer: bool = False
    sharing_ranks: int = -1
    divides_gradients: bool = False
    exchanges: bool = False
    strategy_file: Path | None = None
    earlier_strategy: Path | None = None

    @contextmanager
    def active(self, arrays: int = 0) -> Iterator[None]:
        """Cells that are made inside take no memory for their parameters; a step compiled inside is divided.

        Args:
            arrays: how many inputs [B, T] the step has, without those that are parameters.
        """
        ms.set_recursion_limit(_CALL_DEPTH)
        ms.set_auto_parallel_context(**self._context(arrays))
        # There is no public module that has it.
        cost_model_context().set_rp_matmul_mem_coef(self.memory_weight)
        try:
            yield
        finally:
            ms.reset_auto_parallel_context()

    def _context(self, arrays: int) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "parallel_mode": "semi_auto_parallel" if self.search is None else "auto_parallel",
            "dataset_strategy": "full_batch" if self.whole_rows or not arrays else ((self.row_ranks, 1),) * arrays,
            "pipeline_stages": self.stages,
            "pipeline_config": {"pipeline_interleave": self.chunks > 1, "pipeline_scheduler": self.scheduler},
            "enable_parallel_optimizer": self.divides_optimizer,
            # Which parameters are divided is said of each, see `mf_parallel.automatic.marks`.
            "parallel_optimizer_config": {
                "parallel_optimizer_threshold": 0,
                "gradient_accumulation_shard": self.divides_gradients,
                **({"optimizer_weight_shard_size": self.sharing_ranks} if self.sharing_ranks > 1 else {}),
            },
            "enable_alltoall": self.exchanges,
        }
        if self.search is not None:
            settings["search_mode"] = self.search
        if self.strategy_file is not None:
            settings["strategy_ckpt_save_file"] = str(self.strategy_file)
        return settings
