"""What a simulated process does: takes training rows on a stand-in for an Ascend, whose queue gives zeros."""

from mf_config import decode, load
from mf_train.data import RunData
from mf_train.layout.processes import Processes


def kinds_of_rows(run_file: str, settings: list[str], steps: int) -> list[str]:
    """What holds the inputs of some steps, and their shape."""
    data = RunData(decode(load(run_file, ["context.device_target=Ascend", *settings])), Processes.alone())
    inputs = [data.next_examples(step).input_ids_BT for step in range(steps)]
    data.close()
    return [f"{type(ids_BT).__name__} {ids_BT.shape}" for ids_BT in inputs]


def with_and_without_sink_mode(run_file: str) -> list[list[str]]:
    """The rows of three steps each."""
    return [kinds_of_rows(run_file, [f"runner_config.sink_mode={mode}"], 3) for mode in (True, False)]
