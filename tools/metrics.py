"""Measure the repository's fifteen criteria in one parse: `python tools/metrics.py [--check] [--json]`.

What only a run can tell (contracts, coverage, wheels, import times) belongs to the nox sessions.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from measures import conduct, configuration, documentation, imports, models, sizes
from measures.source import Measure, Repository, read_repository

MEASURES: tuple[Callable[[Repository], Measure], ...] = (
    imports.cycles,
    sizes.file_sizes,
    sizes.function_sizes,
    sizes.parameter_counts,
    documentation.docstrings,
    sizes.duplication,
    models.parallel_words,
    imports.host_only,
    configuration.unread_keys,
    configuration.config_systems,
    conduct.error_checks,
    conduct.typing_and_suppressions,
    imports.private_imports,
    conduct.tests_per_source,
    sizes.family_cost,
)
SHOWN = 8
"""Offenders listed for one criterion unless `--all` asks for every one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and with `--check` fail on a broken hard criterion.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status: 1 where `--check` finds a violation, else 0.
    """
    parser = argparse.ArgumentParser(description="measure the repository's fifteen criteria", allow_abbrev=False)
    parser.add_argument(
        "root", nargs="?", type=Path, default=Path(__file__).parent.parent, help="repository to measure"
    )
    parser.add_argument("--check", action="store_true", help="show violations of hard criteria only; exit 1 on any")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--all", action="store_true", help="list every offender")
    options = parser.parse_args(arguments)
    repository = read_repository(options.root)
    results = [measure(repository) for measure in MEASURES]
    violations = [violation for result in results for violation in result.violations]
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    elif options.check:
        print("\n".join(violations) or f"{len(MEASURES)} criteria measured, no violation")
    else:
        print(_table(results, sys.maxsize if options.all else SHOWN))
    return 1 if options.check and violations else 0


def _table(results: Sequence[Measure], shown: int) -> str:
    lines = []
    for result in results:
        mark = "  FAILS" if result.violations else ""
        lines.append(f"{result.number:2}  {result.name:22} {result.points}  {result.value}{mark}")
        lines.extend(f"        {offender}" for offender in result.offenders[:shown])
        if len(result.offenders) > shown:
            lines.append(f"        and {len(result.offenders) - shown} more (--all lists them)")
    total = sum(result.points for result in results)
    return "\n".join([*lines, f"    {total} of {2 * len(results)} points"])


if __name__ == "__main__":
    sys.exit(main())
