"""The reference page of all keys, as Markdown: `mf-train schema --markdown` prints it; see docs/configuration.md."""

from collections.abc import Iterator

from mf_config.explain import allowed_values, default_text
from mf_config.outline import Entry, outline

_HEAD = """# Configuration reference

Every key of a run configuration, made from the schema by `mf-train schema --markdown`. A component is a section that is
chosen by its key `type`; its keys follow under its names.
"""
_COLUMNS = "| key | type | default | allowed | meaning |\n|---|---|---|---|---|"


def reference_page() -> str:
    """The page: the keys of the top level, then a table for each section, and one for each component of a section."""
    return "\n".join([_HEAD, *_tables(list(outline()))]) + "\n"


def _tables(entries: list[Entry]) -> Iterator[str]:
    groups: dict[tuple[str, tuple[str, ...]], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.path.rpartition(".")[0], entry.component), []).append(entry)
    for (section, names), members in groups.items():
        yield f"## {_title(section, names)}\n\n{_COLUMNS}"
        yield from (_row(entry) for entry in members)
        yield ""


def _title(section: str, names: tuple[str, ...]) -> str:
    if not section:
        return "Top level"
    return f"`{section}` with type {' or '.join(names)}" if names else f"`{section}`"


def _row(entry: Entry) -> str:
    key = entry.key
    remarks = [key.doc]
    remarks += [f"Has no effect: {key.inert}."] if key.inert else []
    remarks += [f"Has no effect on {device}: {reason}." for device, reason in key.inert_on.items()]
    cells = (f"`{entry.name}`", entry.type_text, default_text(entry), allowed_values(entry), " ".join(remarks))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
