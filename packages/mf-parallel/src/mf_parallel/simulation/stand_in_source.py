"""C source of the functions that MindSpore's Ascend plugin expects of CANN.

The plugin links against CANN and looks further functions up by name. While it only compiles, no result of theirs
matters, so each does next to nothing. What it must do is fixed by how callers use it: CANN's graph classes hold a
shared pointer, and code that the compiler placed in the caller copies and destroys it. So constructors, and functions
that return an object, leave zeros in its place, which is the empty state of pointers, vectors and strings alike.
"""

import re
from collections.abc import Iterable

_OF_CANN = re.compile(r"_ZNK?2ge|acl|rt[A-Z]|hal[A-Z]")
"""Beginnings of CANN's names: graph engine (C++, namespace ge), ACL, run time, driver."""

_LOOKED_UP = re.compile(rb"acl[A-Za-z0-9]{3,60}(?=\0)")
"""A name of ACL at the end of a string: linkers keep one copy of strings of which one ends with the other."""

_STATUS_FACTORY = "_ZN2ge13StatusFactory8InstanceEv"

_ZEROED = (
    (re.compile(r"_ZN2ge\w*RegisterC[12]E"), 0),  # empty classes: nothing of theirs may be written
    (re.compile(r"_ZN2ge8OperatorC[12]E"), 24),  # a table of virtual functions, then a shared pointer
    (re.compile(r"_ZN2ge\w*C[12]E"), 16),  # a shared pointer
    (re.compile(r"_ZN2ge15OperatorFactory14CreateOperatorE"), 24),
    (re.compile(r"_ZNK2ge5Shape7GetDimsEv"), 24),  # a vector
    (re.compile(r"_ZNK2ge\w*\dGet(Origin)?ShapeEv"), 16),
    (re.compile(r"_ZNK2ge\w*\dGet(Dynamic)?(Input|Output|Tensor)Desc(ByName)?E"), 16),
    (re.compile(r"_ZNK2ge\w*\dGet(Name|OpType)Ev"), 8),  # a string of the ABI before C++11
)
"""Mangled names of constructors and of functions that return an object, with its size in bytes.

On x86-64 both get the address to fill as their first argument.
"""

_RETURNS_ITSELF = re.compile(r"_ZN2ge8Operator\d")
"""Setters of operators, which are chained."""

_WAITS = "aclrtProcessReport"
"""Waits for work of a callback, at most the given milliseconds; the plugin has threads that call it in a loop."""

_LONGEST_WAIT_MS = 100
"""A wait without end must end with the process."""

_STATUS_FACTORY_SOURCE = f"""
/* A single object with a std::map from number to text at its start, which the plugin fills when it is loaded. These are
   the fields of an empty map in libstdc++: a node without parent whose neighbours are itself. */
struct node {{ long colour; void *parent, *left, *right; }};
static struct {{ long order; struct node head; long count; char more[256]; }} factory =
    {{ 0, {{ 0, 0, &factory.head, &factory.head }}, 0, {{ 0 }} }};
void *status_factory(void) __asm__("{_STATUS_FACTORY}");
void *status_factory(void) {{ return &factory; }}
"""


def is_of_cann(symbol: str) -> bool:
    """Whether CANN would define a symbol that the plugin leaves undefined."""
    return _OF_CANN.match(symbol) is not None


def looked_up(library: bytes) -> set[str]:
    """Names of ACL that a library may look up while it runs.

    Args:
        library: content of the file.

    Returns:
        The names among its strings, and for each operator `aclnnX` the function that asks for its workspace.
    """
    names = {name.decode() for name in _LOOKED_UP.findall(library)}
    return names | {f"{name}GetWorkspaceSize" for name in names if re.match(r"aclnn[A-Z]", name)}


def linked_source(symbols: Iterable[str]) -> str:
    """C source of the functions that are linked: those of `symbols` that are CANN's, and the status factory."""
    return _source(name for name in symbols if is_of_cann(name) and name != _STATUS_FACTORY) + _STATUS_FACTORY_SOURCE


def looked_up_source(names: Iterable[str]) -> str:
    """C source of the functions that are looked up by name."""
    return _source(names)


def _source(names: Iterable[str]) -> str:
    return "#include <string.h>\n#include <unistd.h>\n" + "".join(
        _function(number, name) for number, name in enumerate(sorted(set(names)))
    )


def _function(number: int, name: str) -> str:
    """One function whose linker name is `name`."""
    size = next((size for pattern, size in _ZEROED if pattern.match(name)), None)
    declared = f"f{number}(char *first)"
    if size is not None:
        body = f"memset(first, 0, {size}); return first;"
    elif _RETURNS_ITSELF.match(name):
        body = "return first;"
    elif name == _WAITS:
        bounded = f"wait_ms > 0 && wait_ms < {_LONGEST_WAIT_MS} ? wait_ms : {_LONGEST_WAIT_MS}"
        body = f"int wait_ms = (int)(long)first; usleep(1000 * ({bounded})); return 0;"
    else:
        body = "return 0;"
    return f'void *{declared} __asm__("{name}");\nvoid *{declared} {{ {body} }}\n'
