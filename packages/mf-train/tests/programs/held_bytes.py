"""Writes what every process of a job holds, on several meshes one after another.

Run it with a folder that holds `meshes.json`: name to run file and settings. It leaves `NAME-RANK.json`, each with the
bytes of weights, of the optimizer's tensors, and of the pieces that it updates apart.
"""

import json
import sys
from pathlib import Path

from mf_config import decode, load
from mf_config.sections.context import ContextSection
from mf_models.device import prepare
from mf_parallel.axes import AxisCommunicators
from mf_parallel.collectives import connect
from mf_parallel.process_group import ProcessGroup
from mf_train.assemble import Job
from mf_train.layout.plans import mesh_of
from mf_train.layout.processes import Processes


def held(run_file: str, settings: list[str], group: ProcessGroup) -> dict[str, int]:
    config = decode(load(run_file, settings))
    job = Job(config, Processes(AxisCommunicators(mesh_of(config, group.size), group.rank)))
    weights = list(job.weights.values())
    slots = [tensor for tensors in job.update.slots.values() for tensor in tensors.values()]
    pieces = [target for target in job.update.targets if target.name not in job.weights]
    found = {"weights": weights, "slots": slots, "pieces": pieces}
    return {name: sum(tensor.nbytes for tensor in tensors) for name, tensors in found.items()}


def main(folder: Path) -> None:
    group = ProcessGroup.from_environment()
    prepare(ContextSection(device_target="CPU"))
    connect(group)
    for name, (run_file, settings) in json.loads((folder / "meshes.json").read_text()).items():
        (folder / f"{name}-{group.rank}.json").write_text(json.dumps(held(run_file, settings, group)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
