"""The subcommands and their options; the module that does the work of one is imported when it runs."""

from argparse import ArgumentParser
from pathlib import Path

from mf_config.command_line import Command, add_override_option, run_of


def add_validate_options(parser: ArgumentParser) -> None:
    """Declare the options of `validate`."""
    parser.add_argument("configs", nargs="+", metavar="CONFIG", help="run configurations, YAML")
    add_override_option(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print notes too: what has no effect, and why")
    parser.add_argument("--to-run", action="store_true", help="fail also on what keeps a valid file from being run")
    parser.add_argument(
        "--resolved", action="store_true", help="print the complete configuration, with the source of each value"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: a list of all problems, notes included")


def add_explain_options(parser: ArgumentParser) -> None:
    """Declare the options of `explain`."""
    parser.add_argument(
        "name",
        help="a dotted path (runner_config.epochs), the last part of one (epochs), a type (AdamW) or the id of a rule",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list, one object a key, component or rule")


def add_schema_options(parser: ArgumentParser) -> None:
    """Declare the options of `schema`."""
    parser.add_argument("--markdown", action="store_true", help="print the reference page instead of the JSON Schema")
    parser.add_argument("--json", action="store_true", help="accepted for uniformity: the schema is JSON anyway")


def add_migrate_options(parser: ArgumentParser) -> None:
    """Declare the options of `migrate`."""
    parser.add_argument("config", type=Path, metavar="OLD.yaml", help="the run configuration")
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "-o", "--output", type=Path, metavar="NEW.yaml", help="write this file instead of standard output"
    )
    target.add_argument("--in-place", action="store_true", help="replace the file, if anything changes")
    target.add_argument("--check", action="store_true", help="write nothing; exit status 1 where anything would change")
    parser.add_argument("--json", action="store_true", help="print the changes as a JSON object, with the new text")


VALIDATE = Command(
    "validate", "Name every problem of every file.", add_validate_options, run_of("mf_config.cli.validate")
)
EXPLAIN = Command(
    "explain",
    "Say what a key does, its type, default and allowed values.",
    add_explain_options,
    run_of("mf_config.cli.explain"),
)
SCHEMA = Command(
    "schema", "Print the JSON Schema of a run configuration.", add_schema_options, run_of("mf_config.cli.schema")
)
MIGRATE = Command(
    "migrate",
    "Rewrite older spellings in the canonical form, keeping comments and order.",
    add_migrate_options,
    run_of("mf_config.migration.command"),
)
