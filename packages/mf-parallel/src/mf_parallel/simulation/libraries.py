"""Builds the stand-in CANN libraries once and keeps them in the user's cache."""

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mf_config.problems import UserError
from mf_parallel.simulation.stand_in_source import linked_source, looked_up, looked_up_source

_LINKED = "libge_runner"
"""The one library that holds all linked functions; the linker takes a symbol from wherever it finds it."""

_LOADED = (
    *("libgraph", "libhccl", "libruntime", "libplatform", "libc_sec", "libnnopbase", "libascend_hal"),
    *("libascendcl", "libmsprofiler", "libopapi", "libacl_op_compiler", "libacl_tdt_channel", "libascend_ml"),
)
"""The others that the plugin links against or opens while it runs; it looks functions up in some of them."""

_ROOT = "cann"
"""MindSpore finds CANN's other libraries by a folder of this name in the path of one that is loaded."""

_HCCL = {
    "__init__.py": '"""Stands in for the wheel of CANN\'s collectives: MindSpore asks for its version only."""\n',
    "sys_version.py": '__sys_version__ = "8.0.0"\n',
}
_MACHINE = "x86_64"
"""The generated source relies on this processor's way of returning objects."""

_OWN_SOURCES = (Path(__file__), Path(__file__).with_name("stand_in_source.py"))


@dataclass(frozen=True, slots=True)
class StandIn:
    """Where the stand-in for CANN lies.

    Attributes:
        folder: holds `lib64` (shared libraries) and `python` (the module that MindSpore asks for).
        mindspore: the folder of the installed MindSpore.
    """

    folder: Path
    mindspore: Path

    @property
    def library_path(self) -> tuple[Path, ...]:
        """The folders in which the loader of a simulated process looks for libraries, in this order."""
        own = self.mindspore / "lib"
        return self.folder / "lib64", own / "plugin" / "ascend", own, own / "plugin"

    @property
    def python_path(self) -> Path:
        """The folder of Python modules."""
        return self.folder / "python"


def stand_in() -> StandIn:
    """The stand-in for the installed MindSpore; built at the first call on a machine, which takes some seconds.

    Returns:
        A finished folder below `$XDG_CACHE_HOME/mf` (or `~/.cache/mf`), which processes share.

    Raises:
        UserError: MindSpore, its Ascend plugin, a C compiler or `nm` is missing, the compiler failed, or the processor
            is no x86-64.
    """
    if platform.machine() != _MACHINE:
        raise UserError(f"Ascend simulation: the processor is {platform.machine()}. Allowed: {_MACHINE}.")
    mindspore, release = _mindspore()
    recipe = hashlib.sha256(release.encode())
    for source in _OWN_SOURCES:
        recipe.update(source.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mf" / "simulation"
    folder = cache / f"mindspore-{release}-{recipe.hexdigest()[:16]}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="building-") as beside:
            building = Path(beside) / "finished"
            _build(building / _ROOT, mindspore)
            _publish(building, folder)
    return StandIn(folder / _ROOT, mindspore)


def _mindspore() -> tuple[Path, str]:
    """Folder and version of MindSpore, without loading it."""
    found = importlib.util.find_spec("mindspore")
    try:
        release = version("mindspore")
    except PackageNotFoundError:
        release = ""
    if found is None or found.origin is None or not release:
        raise UserError("Ascend simulation: MindSpore is not installed. Allowed: pip install 'mf-parallel[mindspore]'.")
    return Path(found.origin).parent, release


def _publish(building: Path, folder: Path) -> None:
    try:
        building.rename(folder)
    except OSError:
        # Another process was faster, and made the same.
        if not folder.is_dir():
            raise


def _build(folder: Path, mindspore: Path) -> None:
    """Make all of the stand-in in a new folder."""
    plugin = mindspore / "lib" / "plugin"
    libraries = sorted([*plugin.glob("libmindspore*ascend.so*"), *(plugin / "ascend").rglob("*.so")])
    if not libraries:
        what = f"the MindSpore in {mindspore} has no Ascend plugin"
        raise UserError(f"Ascend simulation: {what}. Allowed: a wheel for Linux from PyPI.")
    undefined = {name for library in libraries for name in _undefined_symbols(library)}
    names = {name for library in libraries for name in looked_up(library.read_bytes())}
    target = folder / "lib64"
    target.mkdir(parents=True)
    _compile(linked_source(undefined), target / f"{_LINKED}.so")
    _compile(looked_up_source(names), target / f"{_LOADED[0]}.so")
    for name in _LOADED[1:]:
        shutil.copyfile(target / f"{_LOADED[0]}.so", target / f"{name}.so")
    module = folder / "python" / "hccl"
    module.mkdir(parents=True)
    for name, text in _HCCL.items():
        (module / name).write_text(text, encoding="utf-8")


def _undefined_symbols(library: Path) -> list[str]:
    listed = _run(("nm", "--dynamic", "--undefined-only", str(library)))
    return [line.split()[-1].partition("@")[0] for line in listed.splitlines() if line.strip()]


def _compile(source: str, library: Path) -> None:
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), "cc")
    flags = ("-x", "c", "-O1", "-fPIC", "-shared")
    _run((compiler, *flags, "-", "-o", str(library)), source)


def _run(command: tuple[str, ...], standard_input: str = "") -> str:
    """Run a tool of the compiler's tool chain; its standard output."""
    if shutil.which(command[0]) is None:
        raise UserError(
            f"Ascend simulation: there is no program {command[0]!r}. Allowed: a C compiler with its tools, "
            "for example apt install gcc."
        )
    done = subprocess.run(command, input=standard_input, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"Ascend simulation: {command[0]} failed: {done.stderr.strip()[-400:]}")
    return done.stdout
