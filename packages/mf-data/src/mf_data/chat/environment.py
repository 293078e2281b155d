"""The Jinja environment of chat templates: that of Hugging Face, in a sandbox that is bounded in time and memory.

What templates see follows Hugging Face's `apply_chat_template`: blocks take the line feed behind them and the white
space before them, `tojson` escapes nothing, there are `raise_exception`, `strftime_now`, `break` and `continue`, and
`{% generation %}` stands around what an assistant says.
"""

import functools
import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import Environment, nodes, pass_context
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mf_data.chat.budget import Budget, check_operation, size_of

ANSWER_BEGINS, ANSWER_ENDS = "mf_answer_begins", "mf_answer_ends"
"""Variables that are written before and behind what an assistant says, where a template marks that."""

_TICK, _CHECKED = "mf_tick", "mf_checked"
"""Filters that are put into each loop and around each value that is kept."""

_budget: ContextVar[Budget] = ContextVar("budget")
"""That of the rendering which runs: one environment may serve several threads at once."""


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Compiles templates whose every rendering is bounded; one rendering at a time in each thread."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def __init__(self) -> None:
        """Makes an environment of its own."""
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", AnswerTag],
            finalize=_finalize,
            # Nothing may be computed while a template is compiled: there is no budget then.
            optimized=False,
        )
        self.filters["tojson"] = _tojson
        self.filters = {name: _bounded(name, function) for name, function in self.filters.items()}
        self.filters |= {_TICK: _tick, _CHECKED: _checked}
        del self.globals["lipsum"]
        self.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - Jinja's own names
        """Call something on behalf of a template, if it is safe and its result can't be too large."""
        _budget.get().spend()
        target = getattr(__obj, "__self__", None)
        given = [target] if isinstance(target, str | list | tuple | Mapping) else []
        check_operation(getattr(__obj, "__name__", "").lstrip("_"), [*given, *args, *kwargs.values()])
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Apply an operator on behalf of a template, if its result can't be too large."""
        check_operation(operator, [left, right])
        return super().call_binop(context, operator, left, right)

    def bounded_template(self, source: str) -> Callable[[Mapping[str, Any]], str]:
        """Compile a template.

        Args:
            source: its text.
        Returns:
            A function from variables to the rendered text. It raises what Jinja raises, `SecurityError` for a template
            that takes too long or makes too much.
        Raises:
            TemplateSyntaxError: the template is broken.
        """
        tree = self.parse(source)
        _instrument(tree)
        template = self.from_string(tree)

        def render(variables: Mapping[str, Any]) -> str:
            token = _budget.set(Budget())
            try:
                return template.render(variables)
            finally:
                _budget.reset(token)

        return render


class AnswerTag(Extension):
    """`{% generation %} … {% endgeneration %}`: what an assistant says; the text inside is written as it is."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own attribute

    def parse(self, parser: Parser) -> nodes.Node:
        """Read the tag and what is inside."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        begin, end = (nodes.Output([nodes.Name(name, "load")]) for name in (ANSWER_BEGINS, ANSWER_ENDS))
        # Variables that are set inside are not seen outside.
        return nodes.Scope([begin, *body, end]).set_lineno(line)


def _instrument(tree: nodes.Template) -> None:
    """Put the checks into a template: time in loops and macros, size where values are kept or joined."""
    for block in tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock)):
        written = sum(len(data.data) for data in block.find_all(nodes.TemplateData))
        tick = nodes.Output([_filter(nodes.Const(written), _TICK)])
        block.body.insert(0, tick)  # type: ignore[attr-defined]  # find_all loses which classes were asked for
    for assignment in tree.find_all(nodes.Assign):
        assignment.node = _filter(assignment.node, _CHECKED)
    _join_where_joined(tree)
    tree.set_environment(tree.environment)  # type: ignore[arg-type]


def _join_where_joined(node: nodes.Node) -> None:
    """Make each `a ~ b` a `[a, b]|join`, which is checked."""
    for name, value in node.iter_fields():
        if isinstance(value, nodes.Concat):
            value = _filter(nodes.List(value.nodes), "join")
            setattr(node, name, value)
        elif isinstance(value, list):
            value[:] = [
                _filter(nodes.List(item.nodes), "join") if isinstance(item, nodes.Concat) else item for item in value
            ]
    for child in node.iter_child_nodes():
        _join_where_joined(child)


def _filter(value: nodes.Node, name: str) -> nodes.Filter:
    filtered = nodes.Filter(value, name, [], [], None, None)
    # Nodes that no parser made have no line of their own, which the compiler asks for.
    filtered.set_lineno(value.lineno or 1)
    return filtered


def _bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that looks at its arguments first; Jinja's marks on it (`pass_context`, …) are kept."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        _budget.get().spend()
        # Some filters get an object of Jinja's before their arguments.
        given = args[1:] if isinstance(args[0], Context | nodes.EvalContext | Environment) else args
        check_operation(name, [*given, *kwargs.values()])
        return function(*args, **kwargs)

    return checked


@pass_context
def _tick(_: Context, written: int) -> str:
    """Count one turn of a loop, which writes so many characters of the template itself."""
    _budget.get().spend(written)
    return ""


@pass_context
def _checked(_: Context, value: Any) -> Any:
    size_of(value)
    return value


# Without the context, Jinja would apply it while it compiles.
@pass_context
def _finalize(_: Context, value: Any) -> Any:
    """Count a value that is about to be written."""
    _budget.get().spend(size_of(value))
    return value


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)
