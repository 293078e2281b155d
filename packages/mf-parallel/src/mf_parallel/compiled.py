"""Compiles C++ sources once for a machine and keeps the library in the user's cache. Loads no framework."""

import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from mf_parallel.machine import processor, user_cache

SWITCH = "MF_NATIVE_KERNELS"
"""Environment variable: 0 leaves what is compiled out, so that MindSpore's own operators take its place."""

_COMPILERS = ("c++", "g++", "clang++")
_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-fno-math-errno", "-shared", "-fPIC")

_log = logging.getLogger(__name__)


def compiled_library(sources: Path, part: str) -> Path | None:
    """A shared library; the first call on a machine compiles it, which takes some seconds.

    Its name is made of the sources, the compiler and the processor, so that none of them is ever mixed up with
    another; it lies in `$XDG_CACHE_HOME/mf`, or `~/.cache/mf`. Several processes may compile at once.

    Args:
        sources: a folder of C++ files.
        part: name of the folder in the cache.

    Returns:
        Its absolute path; None where the switch is off, or there is no C++ compiler that can make it. The log says why.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    compiler = next((found for name in _COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        _log.info("no C++ compiler, so training is slower than it could be. Install one, for example: apt install g++")
        return None
    try:
        library = user_cache(part) / f"{_recipe(compiler, sources)}.so"
        if not library.exists():
            _compile(compiler, sources, library)
        return library
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error.stderr if isinstance(error, subprocess.CalledProcessError) else error
        _log.warning("operators in C++ can't be compiled, so training is slower than it could be: %s", reason)
        return None


def _recipe(compiler: str, sources: Path) -> str:
    """Everything that decides the library, as one word; `-march=native` depends on the processor."""
    recipe = hashlib.sha256(" ".join(_FLAGS).encode())
    for path in sorted(sources.iterdir()):
        recipe.update(path.name.encode() + path.read_bytes())
    recipe.update(_run(compiler, "--version").encode())
    recipe.update(processor().encode())
    return recipe.hexdigest()[:32]


def _compile(compiler: str, sources: Path, library: Path) -> None:
    """Compile beside the place, then rename: a process that looks there finds a whole library or none."""
    library.parent.mkdir(parents=True, exist_ok=True)
    _log.info("compiling operators for this processor into %s", library)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="compiling-") as folder:
        made = Path(folder) / library.name
        _run(compiler, *_FLAGS, *(str(path) for path in sorted(sources.glob("*.cc"))), "-o", str(made))
        made.replace(library)


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
