"""What every process of a run does first: device, place among the processes, log."""

from pathlib import Path

from mf_config import RunConfig
from mf_models.device import prepare
from mf_train.layout.processes import Processes, join_processes
from mf_train.records import logs
from mf_train.records.output import OutputFolder


def start_process(config: RunConfig) -> Processes:
    """Prepare this process for a run.

    Args:
        config: the run configuration.
    Returns:
        Its place among the run's processes.
    Raises:
        UserError: nothing can be written to `output_dir`, or the launcher's number of processes does not fit the
            configuration.
    """
    output = OutputFolder(Path(config.output_dir))
    output.make()
    prepare(config.context)
    processes = join_processes(config)
    logs.configure(output.log(processes.rank), processes.is_main)
    return processes
