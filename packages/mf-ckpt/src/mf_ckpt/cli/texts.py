"""Sizes and names as people read them at a terminal."""


def size_text(nbytes: int) -> str:
    """A number of bytes in the largest binary unit that keeps it at least 1."""
    size = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{nbytes} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def printable(text: str) -> str:
    """Text from a file without what could steer a terminal: such characters show as escapes."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)
