"""The msrun command line."""

import socket
import sys
from pathlib import Path

import pytest

from mf_config.problems import UserError
from mf_parallel.launch import Machine, free_port, msrun_command, msrun_environment


def test_the_program_comes_last_and_options_name_the_workers():
    command = msrun_command(["-m", "mf_train", "run", "a.yaml"], 3, Path("out/log"), port=8118)
    assert command[0] == sys.executable
    assert command[-5:] == ["python", "-m", "mf_train", "run", "a.yaml"]
    options = dict(zip(command[3:-5:2], command[4:-5:2], strict=True))
    assert options["--worker_num"] == options["--local_worker_num"] == "3"
    assert (options["--master_port"], options["--log_dir"], options["--join"]) == ("8118", "out/log", "True")


def test_a_free_port_can_be_bound():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port()))
        taken = listener.getsockname()[1]
        assert free_port() != taken


def test_this_interpreter_is_found_first():
    folder = str(Path(sys.executable).parent)
    patience = {"MS_CPU_COMM_OP_TIMEOUT": "3600"}
    assert msrun_environment({"PATH": "/bin", "A": "b"}) == {"PATH": f"{folder}:/bin", "A": "b"} | patience
    assert msrun_environment({}) == {"PATH": folder} | patience
    assert msrun_environment({"MS_CPU_COMM_OP_TIMEOUT": "60"})["MS_CPU_COMM_OP_TIMEOUT"] == "60"


@pytest.mark.parametrize(("program", "workers"), [([], 2), (["a.py"], 0)])
def test_nothing_to_run_is_refused(program, workers):
    with pytest.raises(UserError, match="at least one worker and a program"):
        msrun_command(program, workers, Path("log"))


def test_a_machine_among_several_starts_its_own_share():
    command = msrun_command(["a.py"], 8, Path("log"), machine=Machine(1, 4, "10.0.0.7", 9000))
    options = dict(zip(command[3:-2:2], command[4:-2:2], strict=True))
    assert (options["--worker_num"], options["--local_worker_num"], options["--node_rank"]) == ("8", "4", "1")
    assert (options["--master_addr"], options["--master_port"]) == ("10.0.0.7", "9000")
    assert Machine(1, 4, "10.0.0.7").first_rank == 4


@pytest.mark.parametrize(
    ("machine", "wanted"), [(Machine(0, 3, "a"), "as many on each"), (Machine(2, 4, "a"), "0 to 1")]
)
def test_machines_that_make_no_job_are_refused(machine: Machine, wanted: str):
    with pytest.raises(UserError, match=wanted):
        msrun_command(["a.py"], 8, Path("log"), machine=machine)
