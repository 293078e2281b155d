import ctypes
import importlib.util
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from mf_config.problems import UserError
from mf_parallel.simulation import SimulatedRank, SimulationError, libraries, simulate, stand_in
from mf_parallel.simulation.stand_in_source import is_of_cann, linked_source, looked_up, looked_up_source

PROGRAMS = [Path(__file__).parent / "programs"]

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in needs a C compiler")
needs_mindspore = pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="MindSpore is an extra")

SHAPE, OPERATOR, REGISTER = "_ZN2ge5ShapeC1Ev", "_ZN2ge8OperatorC1EPKc", "_ZN2ge18InferShapeFuncRegisterC2EPKc"
DIMS, SETTER, STATUS = "_ZNK2ge5Shape7GetDimsEv", "_ZN2ge8Operator7SetAttrEPKcb", "aclrtMalloc"


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("linked") / "linked.so"
    source = linked_source([SHAPE, OPERATOR, REGISTER, DIMS, SETTER, STATUS, "_ZN9mindspore6TensorC1Ev"])
    command = ["cc", "-x", "c", "-shared", "-fPIC", "-", "-o", str(library)]
    subprocess.run(command, input=source, text=True, check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize(("name", "size"), [(SHAPE, 16), (OPERATOR, 24), (REGISTER, 0), (DIMS, 24)])
def test_objects_become_empty_and_nothing_beside_them_is_touched(linked: ctypes.CDLL, name: str, size: int) -> None:
    room = ctypes.create_string_buffer(b"\xff" * 32, 32)
    function = linked[name]
    function.restype = ctypes.c_void_p
    assert function(room) == ctypes.addressof(room)
    assert room.raw == b"\0" * size + b"\xff" * (32 - size)


def test_other_functions_return_their_object_or_success(linked: ctypes.CDLL) -> None:
    setter = linked[SETTER]
    setter.restype = ctypes.c_void_p
    room = ctypes.create_string_buffer(b"\xff" * 32, 32)
    assert setter(room) == ctypes.addressof(room)
    assert linked[STATUS](room) == 0
    assert room.raw == b"\xff" * 32
    assert not hasattr(linked, "_ZN9mindspore6TensorC1Ev") and not is_of_cann("_ZN9mindspore6TensorC1Ev")


def test_a_wait_for_callbacks_takes_its_time(tmp_path: Path) -> None:
    source, library = looked_up_source(["aclrtProcessReport"]), tmp_path / "looked_up.so"
    subprocess.run(["cc", "-x", "c", "-shared", "-fPIC", "-", "-o", str(library)], input=source, text=True, check=True)
    begin = time.perf_counter()
    assert ctypes.CDLL(str(library)).aclrtProcessReport(30) == 0
    assert time.perf_counter() - begin >= 0.03


def test_names_are_found_at_the_end_of_strings() -> None:
    content = b"\0aclInit\0xx_aclrtSetDevice\0aclnnAdd\0acl and more\0aclnn"
    assert looked_up(content) == {"aclInit", "aclrtSetDevice", "aclnnAdd", "aclnnAddGetWorkspaceSize"}


@needs_mindspore
def test_libraries_are_built_once_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = stand_in()
    assert first.folder.is_relative_to(tmp_path)
    assert [path.name for path in (tmp_path / "mf" / "simulation").iterdir()] == [first.folder.parent.name]
    monkeypatch.setenv("PATH", "")
    assert stand_in() == first
    other = tmp_path / "other"
    other.mkdir()
    (other / "late").touch()
    # What another process finished in the meantime stays.
    libraries._publish(other, first.folder.parent)
    assert not (first.folder.parent / "late").exists()


@needs_mindspore
def test_without_a_compiler_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"^Ascend simulation: there is no program 'nm'\. Allowed: a C compiler with"):
        stand_in()
    assert list((tmp_path / "mf" / "simulation").iterdir()) == []


def test_a_rank_that_the_job_has_not_is_refused() -> None:
    with pytest.raises(UserError, match=r"^Ascend simulation: rank 8 of 8\. Allowed: 0 to 7\.$"):
        SimulatedRank(rank=8, size=8)


@needs_mindspore
@pytest.mark.multiproc
def test_one_rank_of_a_large_job_is_compiled() -> None:
    found = simulate("simulated:compile_sum", {"width": 16}, SimulatedRank(rank=7, size=2048), search_path=PROGRAMS)
    assert (found["rank"], found["size"]) == (7, 2048)
    assert found["operators"] == {"StridedSlice": 1, "RmsNorm": 1, "AllReduce": 1}


@needs_mindspore
@pytest.mark.multiproc
def test_memory_is_planned_where_graphs_are_executed() -> None:
    peak = simulate("simulated:peak_of", {"width": 1024}, SimulatedRank(executes=True), search_path=PROGRAMS)
    tensor = 4 * 1024**2
    assert 3 * tensor <= peak < 4 * tensor


@needs_mindspore
@pytest.mark.multiproc
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("fail", "simulated:fail failed on rank 0 of 1: ValueError: there is no such layer"),
        ("die", "simulated:die failed on rank 0 of 1: the process ended with status 3"),
    ],
)
def test_failures_are_told(function: str, message: str) -> None:
    with pytest.raises(SimulationError) as caught:
        simulate(f"simulated:{function}", {}, search_path=PROGRAMS)
    assert str(caught.value) == message
    assert ("Traceback" in caught.value.output) == (function != "die")


@needs_mindspore
@pytest.mark.multiproc
def test_a_simulation_that_does_not_end_is_stopped() -> None:
    with pytest.raises(SimulationError, match=r"^simulated:fail took more than 0 s on rank 0 of 1$"):
        simulate("simulated:fail", {}, search_path=PROGRAMS, timeout_s=0.05)
