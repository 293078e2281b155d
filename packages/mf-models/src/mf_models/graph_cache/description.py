"""Says in text what a compiler finds when it reads cells: two descriptions are alike only where the graphs are.

Everything that can be reached from the cells is described: numbers and texts in attributes and closures, constant
tensors element by element, parameters by name and form, and the code of functions with the globals that it names.
Parts of MindSpore, NumPy and Python stand for themselves by name. What can't be described raises `UndescribedError`:
better no description than one that leaves something out.
"""

import abc
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Generic, Protocol

import mindspore as ms
import numpy as np
from mindspore import Parameter, nn, ops

_LIBRARIES = frozenset({"mindspore", "numpy", "pybind11_builtins", *sys.stdlib_module_names}) - {"__main__"}
"""Top-level packages whose parts their names and versions describe."""

_EXACT = (types.NoneType, bool, int, float, complex, str, bytes, types.EllipsisType)
"""Types whose `repr` says everything."""

_BOOKKEEPING = frozenset(
    [
        "_auto_prefix",
        "_compile_cache",
        "_compile_phase",
        "_compiled",
        "compiled_forms",
        "_create_time",
        "_exist_names",
        "_exist_objs",
        "_has_mutable_args_list",
        "_id",
        "_init_flag",
        "_is_check_and_refresh",
        "_lazy_construct_sig",
        "_lazy_user_parameters",
        "_param_prefix",
        "_parameter_layout_dict",
        "_params_list",
        "_phase_cache",
        "_scope",
        "__compile_cell_hook__",
        "arguments_key",
        "compile_phase",
        "current_phase",
        "is_top_cell",
        "sequence_modified",
    ]
)
"""Attributes of cells by which MindSpore keeps account of what it has compiled."""

_READ_FIRST = frozenset({"construct", "bprop", "__call__"})
"""Methods that graph code calls without naming them."""

_GRADIENT: type = ops.GradOperation.__mro__[1]
"""The base of what `mindspore.grad` and the like are made of; its attributes tell all."""

_WITHOUT_STATE = (object, abc.ABC, Generic, Protocol)

_Handler = Callable[[Any], None]


class UndescribedError(Exception):
    """There is something of which it isn't known what a compiler makes of it."""


class Description:
    """Describes objects one after another, each once.

    Attributes:
        lines: the text.
        modules: names of the modules, outside the libraries, whose classes and functions were met.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.modules: set[str] = set()
        self._numbers: dict[int, int] = {}
        # An object that is gone could leave its id to another one.
        self._met: list[object] = []
        self._names = set(_READ_FIRST)
        self._methods: dict[type, set[str]] = {}

    def add(self, value: object) -> None:
        """Describe an object and all that can be reached from it.

        Raises:
            UndescribedError: part of it can't be described; the lines so far are of no use then.
        """
        self._add(value)
        while self._add_methods():
            pass

    def _add(self, value: object) -> None:
        if type(value) in _EXACT:
            self.lines.append(repr(value))
        elif id(value) in self._numbers:
            self.lines.append(f"again {self._numbers[id(value)]}")
        else:
            self._numbers[id(value)] = len(self._met)
            self._met.append(value)
            self._handler(value)(value)

    def _say(self, kind: str, *words: object) -> None:
        self.lines.append(" ".join([kind, *map(str, words)]))

    def _handler(self, value: object) -> _Handler:
        handlers: list[tuple[Any, _Handler]] = [
            (nn.Cell, self._cell),
            (Parameter, self._parameter),
            (ms.Tensor, self._tensor),
            (ops.Primitive, self._state),
            (ms.Type, self._named),
            ((np.ndarray, np.generic), self._array),
            (Enum, self._named),
            ((tuple, list), self._items),
            (Mapping, self._mapping),
            (type, self._class),
            (types.ModuleType, self._module),
            (types.FunctionType, self._function),
            (types.MethodType, self._method),
            (types.BuiltinFunctionType, self._builtin),
            (functools.partial, self._partial),
            ((staticmethod, classmethod), self._wrapped),
            (property, self._property),
            (functools.cached_property, self._cached_property),
        ]
        return next((handler for kinds, handler in handlers if isinstance(value, kinds)), self._state)

    # Data

    def _named(self, value: Any) -> None:
        self._say("named", type(value).__qualname__, value)

    def _array(self, value: Any) -> None:
        if value.dtype.hasobject:
            raise UndescribedError(f"an array of {value.dtype}")
        self._say("array", value.dtype, value.shape, _digest(np.ascontiguousarray(value).tobytes()))

    def _tensor(self, value: Any) -> None:
        if value.has_init:
            raise UndescribedError("a tensor without values yet")
        self._say("tensor", value.dtype, value.shape, _digest(value.asnumpy().tobytes()))

    def _parameter(self, value: Any) -> None:
        """Its values are an input of the graph."""
        self._say("parameter", value.name, value.dtype, value.shape, value.requires_grad, value.layerwise_parallel)

    def _items(self, value: Iterable[object]) -> None:
        items = list(value)
        self._say("items", type(value).__qualname__, len(items))
        for item in items:
            self._add(item)

    def _mapping(self, value: Mapping[Any, Any]) -> None:
        self._say("mapping", type(value).__qualname__, len(value))
        for name, item in value.items():
            self._add(name)
            self._add(item)

    # Objects

    def _cell(self, cell: Any) -> None:
        """Of what every cell has, only what was changed."""
        fresh = _fresh_cell()
        self._class(type(cell))
        for name, value in sorted(vars(cell).items()):
            if name in _BOOKKEEPING or (name in fresh and _is_same(value, fresh[name])):
                continue
            self._say("attribute", name)
            self._add(value)

    def _state(self, value: object) -> None:
        """An object by its attributes, where it has nothing else."""
        if not _is_open(type(value)):
            raise UndescribedError(f"{type(value).__module__}.{type(value).__qualname__}")
        self._class(type(value))
        for name, item in sorted(_attributes(value).items()):
            self._say("attribute", name)
            self._add(item)

    def _class(self, value: type) -> None:
        self._say("class", value.__module__, value.__qualname__)
        for base in value.__mro__:
            if self._is_outside(base.__module__):
                self._methods.setdefault(base, set())

    def _add_methods(self) -> bool:
        """Describe what classes have under names that described code uses; whether there was anything new."""
        found = [
            (kind, name)
            for kind, done in self._methods.items()
            for name in sorted((self._names & vars(kind).keys()) - done)
        ]
        for kind, name in found:
            self._methods[kind].add(name)
            value = vars(kind)[name]
            # Of an attribute in a slot the object tells.
            if not isinstance(value, types.MemberDescriptorType):
                self._say("of class", kind.__qualname__, name)
                self._add(value)
        return bool(found)

    # Code

    def _module(self, value: types.ModuleType) -> None:
        self._say("module", value.__name__)

    def _function(self, function: types.FunctionType) -> None:
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None and not self._is_outside(function.__globals__["__name__"]):
            # MindSpore's decorators hold numbers that are others in each process.
            self._say("decorated", function.__globals__["__name__"])
            self._add(wrapped)
            return
        self._say("function", function.__module__, function.__qualname__)
        self._add(function.__defaults__)
        self._add(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            self._add(_contents(cell))
        if self._is_outside(function.__module__):
            self._code(function.__code__, function.__globals__)

    def _code(self, code: types.CodeType, names: Mapping[str, Any]) -> None:
        self._say("code", _digest(code.co_code), code.co_varnames, code.co_names)
        self._names.update(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names)
            else:
                self._say(
                    "constant", sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)
                )
        for name in code.co_names:
            if name in names:
                self._say("global", name)
                self._global(names[name], code.co_names)

    def _global(self, value: Any, used: Iterable[str]) -> None:
        """Of a module what is used of it, of anything else everything."""
        self._add(value)
        if isinstance(value, types.ModuleType) and self._is_outside(value.__name__):
            for name in used:
                if name in vars(value):
                    self._say("of module", name)
                    self._global(vars(value)[name], used)

    def _method(self, method: types.MethodType) -> None:
        self._add(method.__func__)
        self._add(method.__self__)

    def _builtin(self, function: types.BuiltinFunctionType) -> None:
        if not isinstance(function.__self__, types.ModuleType | types.NoneType):
            raise UndescribedError(f"the method {function.__qualname__} of an object")
        self._say("builtin", function.__module__, function.__qualname__)

    def _partial(self, value: "functools.partial[Any]") -> None:
        self._say("partial")
        self._add((value.func, value.args, value.keywords))

    def _wrapped(self, value: Any) -> None:
        self._say("wrapped", type(value).__qualname__)
        self._add(value.__func__)

    def _property(self, value: property) -> None:
        self._say("property")
        self._add(value.fget)

    def _cached_property(self, value: "functools.cached_property[Any]") -> None:
        self._say("property")
        self._add(value.func)

    def _is_outside(self, module: str | None) -> bool:
        """Whether a module is none of the libraries; keeps it in mind then."""
        if module is None or module.partition(".")[0] in _LIBRARIES:
            return False
        self.modules.add(module)
        return True


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@functools.cache
def _fresh_cell() -> dict[str, object]:
    """The attributes of a cell of which nothing is known yet."""
    return dict(vars(nn.Cell()))


def _is_same(value: object, first: object) -> bool:
    """Whether an attribute says what it said at first; MindSpore makes dictionaries of hooks when it looks for one."""
    if isinstance(value, Mapping):
        return not value and not first
    return type(value) in _EXACT and value == first


def _contents(cell: types.CellType) -> object:
    """What a closure holds; `...` where it holds nothing yet."""
    try:
        held: object = cell.cell_contents
    except ValueError:
        return ...
    return held


def _is_open(kind: type) -> bool:
    """Whether objects of a class have no state but attributes that Python sees."""
    if issubclass(kind, (ops.Primitive, _GRADIENT)):
        return True
    if kind is object:
        return False
    return all(base in _WITHOUT_STATE or _is_python_outside(base.__module__) for base in kind.__mro__)


def _is_python_outside(module: str) -> bool:
    source = getattr(sys.modules.get(module), "__file__", None) or ""
    return module.partition(".")[0] not in _LIBRARIES and source.endswith(".py")


def _attributes(value: object) -> dict[str, object]:
    slots = {
        name
        for base in type(value).__mro__
        for name, kept in vars(base).items()
        if isinstance(kept, types.MemberDescriptorType) and hasattr(value, name)
    }
    return {name: getattr(value, name) for name in slots} | dict(getattr(value, "__dict__", {}))
