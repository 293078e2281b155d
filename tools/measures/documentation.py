"""Docstrings: which public names have one, and whether tensor functions say the shapes they take."""

import ast
import re
from collections.abc import Iterator

from measures.source import Function, Measure, Repository, Source, share

SHAPE_SUFFIX = re.compile(r"\w_[A-Z]{1,6}$")
"""Ending of a tensor's name, for example `x_BTD`."""

SHAPE_WORDS = re.compile(r"\[[^\]\n]+\]|\bshapes?\b|\bscalar\b|\b[a-z]\w*_[A-Z]{1,6}\b")
"""What counts as naming a shape: `[batch, tokens]`, the word itself, a scalar, or a suffixed name."""


def docstrings(repository: Repository) -> Measure:
    """Criterion 5: share of public names with a docstring, and of tensor functions whose docstring names a shape."""
    public = [(source, node) for source in repository.modules for node in _public(source.tree, source)]
    bare = tuple(source.at(node, f"{_name(node)} has no docstring") for source, node in public if not _doc(node))
    tensor = [(source, node) for source, node in public if isinstance(node, Function) and _takes_tensors(node)]
    shapeless = tuple(
        source.at(node, f"{node.name} names no shape") for source, node in tensor if not SHAPE_WORDS.search(_doc(node))
    )
    documented = share(len(public) - len(bare), len(public))
    shaped = share(len(tensor) - len(shapeless), len(tensor))
    points = 2 if documented >= 98 and shaped >= 95 else 1 if documented >= 90 and shaped >= 80 else 0
    value = f"{documented:.1f}% documented, shapes in {shaped:.1f}% of {len(tensor)} tensor functions"
    return Measure(5, "public docs", value, points, bare + shapeless)


_Documented = ast.Module | ast.ClassDef | Function


def _public(node: _Documented, source: Source) -> Iterator[_Documented]:
    """The node, and the public classes, functions and methods in it; what stands inside a function is private."""
    yield node
    if isinstance(node, Function):
        return
    for child in node.body:
        if isinstance(child, ast.ClassDef | Function) and not child.name.startswith("_"):
            yield from _public(child, source)


def _name(node: _Documented) -> str:
    return "module" if isinstance(node, ast.Module) else node.name


def _doc(node: _Documented) -> str:
    return ast.get_docstring(node) or ""


def _takes_tensors(function: Function) -> bool:
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    named = any(SHAPE_SUFFIX.search(argument.arg) for argument in arguments)
    annotated = any(argument.annotation and "Tensor'" in ast.dump(argument.annotation) for argument in arguments)
    return function.name == "construct" or named or annotated
