"""What a key does, in a few lines: `mf-train explain KEY` prints it."""

from mf_config.describe import describe_range
from mf_config.outline import Entry, outline
from mf_config.problems import UserError, name_values
from mf_config.schema import REQUIRED
from mf_config.suggest import nearest


def find(name: str) -> list[Entry]:
    """The keys that a name means.

    Args:
        name: a dotted path (`runner_config.epochs`), a path whose list marks are left out (`callbacks.prefix`), or a
            last part (`epochs`), which may stand in several sections.
    Returns:
        At least one entry, in schema order.
    Raises:
        UserError: no such key; names the nearest one.
    """
    entries = list(outline())
    wanted = name.replace("[]", "")
    paths = [entry.path.replace("[]", "") for entry in entries]
    exact = [entry for entry, path in zip(entries, paths, strict=True) if path == wanted]
    found = exact or [entry for entry in entries if entry.name == wanted]
    if not found:
        suggestion = nearest(wanted, dict.fromkeys([*paths, *(entry.name for entry in entries)]))
        hint = f" Did you mean {suggestion}?" if suggestion else ""
        raise UserError(f"{name}: no such key.{hint}")
    return found


def explain(name: str) -> str:
    """The explanation of every key that a name means, as text for a terminal. Raises as `find` does."""
    return "\n\n".join(_text(entry) for entry in find(name))


def as_json(entry: Entry) -> dict[str, object]:
    """One key's explanation as plain data."""
    return {
        "path": entry.path,
        "component": list(entry.component),
        "doc": entry.key.doc,
        "type": entry.type_text,
        "default": None if entry.default is REQUIRED else default_text(entry),
        "required": entry.default is REQUIRED,
        "allowed": allowed_values(entry),
        "modes": list(entry.modes),
        "inert": entry.key.inert,
        "inert_on": dict(entry.key.inert_on),
    }


def allowed_values(entry: Entry) -> str:
    """The values or the range that a key takes; empty where its type says it all."""
    return name_values(entry.key.allowed) or describe_range(entry.key)


def default_text(entry: Entry) -> str:
    """A key's default as a person would write it."""
    default = entry.default
    if default is REQUIRED:
        return "must be given"
    if default is None:
        return "not set"
    if hasattr(type(default), "__dataclass_fields__"):
        return "a section of defaults"
    return repr(default) if isinstance(default, str) else str(default)


def _text(entry: Entry) -> str:
    of_type = f"  (type: {', '.join(entry.component)})" if entry.component else ""
    lines = [f"{entry.path}{of_type}", f"  {entry.key.doc}", f"  type: {entry.type_text}"]
    lines.append("  must be given" if entry.default is REQUIRED else f"  default: {default_text(entry)}")
    if allowed_values(entry):
        lines.append(f"  allowed: {allowed_values(entry)}")
    lines.append(f"  read in run modes: {', '.join(entry.modes)}")
    if entry.key.inert:
        lines.append(f"  has no effect: {entry.key.inert}")
    lines += [f"  has no effect on {device}: {reason}" for device, reason in entry.key.inert_on.items()]
    return "\n".join(lines)
