"""The subcommand `validate`: every problem of every file, or the complete configuration that a file stands for."""

import json
import sys
from argparse import Namespace
from dataclasses import dataclass

from mf_config.command_line import OK, USER_ERROR
from mf_config.decoding import examine
from mf_config.document import load
from mf_config.dump import to_plain
from mf_config.nodes import Document
from mf_config.problems import ConfigError, Problem, Severity, UserError, blockers_in, errors_in
from mf_config.resolved import resolve, sources, to_commented_yaml
from mf_config.sections.run import RunConfig


@dataclass(frozen=True, slots=True)
class _Checked:
    """A file with what is wrong in it; `config` and `document` are None where it can't be read at all."""

    problems: tuple[Problem, ...]
    config: RunConfig | None = None
    document: Document | None = None

    @property
    def valid(self) -> bool:
        """Whether it has no error."""
        return not errors_in(self.problems)

    @property
    def blocked(self) -> bool:
        """Whether it is valid, but a run of it would be refused."""
        return self.valid and bool(blockers_in(self.problems))


def run(arguments: Namespace) -> int:
    """Print the problems; returns 2 where a file is invalid, or can't be run where that was asked."""
    if arguments.resolved and len(arguments.configs) > 1:
        raise UserError("--resolved takes one file at a time")
    files = [_check(config, arguments.overrides) for config in arguments.configs]
    if arguments.resolved:
        _print_resolved(files[0], as_json=arguments.json)
    elif arguments.json:
        print(json.dumps([problem.as_json() for file in files for problem in file.problems]))
    if not arguments.json:
        # Where a configuration is printed, nothing else may stand between its lines.
        _print_problems(files, verbose=arguments.verbose, to_stderr=arguments.resolved)
    refused = any(not file.valid or (arguments.to_run and file.blocked) for file in files)
    return USER_ERROR if refused else OK


def _check(config: str, overrides: list[str]) -> _Checked:
    try:
        document = load(config, overrides)
    except ConfigError as error:
        return _Checked(error.problems)
    examined = examine(document)
    return _Checked(examined.problems, examined.config, document)


def _print_problems(files: list[_Checked], *, verbose: bool, to_stderr: bool) -> None:
    """What is wrong, one line a problem, and one line that sums it up."""
    stream = sys.stderr if to_stderr else sys.stdout
    for file in files:
        for problem in file.problems:
            if verbose or problem.severity is not Severity.NOTE:
                print(problem, file=stream)
    print(_summary(files, verbose=verbose), file=sys.stderr)


def _summary(files: list[_Checked], *, verbose: bool) -> str:
    """`invalid: 6 errors, 12 notes (-v prints them)`; of several files, how many are valid."""
    severities = [problem.severity for file in files for problem in file.problems]
    found = {severity: severities.count(severity) for severity in Severity}
    counts = [f"{count} {severity.noun}{'s' * (count != 1)}" for severity, count in found.items() if count]
    hidden = " (-v prints them)" if found[Severity.NOTE] and not verbose else ""
    return f"{_verdict(files)}: {', '.join(counts) or 'no problems'}{hidden}"


def _verdict(files: list[_Checked]) -> str:
    valid, blocked = sum(file.valid for file in files), sum(file.blocked for file in files)
    if len(files) > 1:
        remark = f" ({blocked} of them can't be run yet)" if blocked else ""
        return f"{len(files)} files, {valid} valid{remark}, {len(files) - valid} invalid"
    if blocked:
        return "valid, but can't be run yet"
    return "valid" if valid else "invalid"


def _print_resolved(file: _Checked, *, as_json: bool) -> None:
    """The complete configuration; nothing where the file has errors (in JSON, the problems say why)."""
    lines = resolve(file.config, file.document) if file.config and file.document else []
    if as_json:
        print(
            json.dumps(
                {
                    "config": to_plain(file.config),
                    "sources": sources(lines),
                    "problems": [problem.as_json() for problem in file.problems],
                }
            )
        )
    else:
        print(to_commented_yaml(lines), end="")
