"""Rules of a model family: how each parameter is divided, and what its layer does at its boundary.

A family writes one table. Patterns are parameter names in which `{layer}` (any word in braces) stands for a whole
number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from mf_config.layout import Placement, Replicate
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest
from mf_parallel.names import collapse

_PLACEHOLDER = re.compile(r"\\\{\w+\\\}")
"""`{layer}` after `re.escape`."""


class Role(Enum):
    """What a divided layer expects and leaves at its boundary; it tells where collectives belong.

    "Axis" is the mesh axis of the parameter's placement. The gradient of a divided parameter is complete on its rank;
    all parameters' gradients are summed over the data-parallel axes.
    """

    REPLICATED = "replicated"
    """In: whole activations. Out: whole. Every rank of the axis computes the same, so the gradient is complete on each;
    where activations are divided by sequence, it is summed over that axis."""

    COLUMN = "column"
    """In: whole activations. Out: features divided among the ranks (heads, or the inner width of a feed-forward layer).
    The output features of the weight are divided, and a bias with them. The gradient of the input is summed over the
    axis."""

    ROW = "row"
    """In: features divided among the ranks. Out: partial sums, which are summed over the axis; a bias is whole on each
    rank and added once, after the sum. The input features of the weight are divided. The gradient of the input is
    local."""

    PER_HEAD = "per head"
    """In and out: heads divided among the ranks. The parameter is whole on each rank but sees only the rank's heads, so
    its gradient is summed over the axis."""

    VOCABULARY = "vocabulary"
    """Rows are vocabulary entries (or positions), divided among the ranks or whole on each. As an embedding, in: whole
    token ids; out: partial sums (zeros for ids of other ranks), summed over the axis. As an output head, in: whole
    activations; out: logits divided by vocabulary; the gradient of the input is summed over the axis. One tied matrix
    does both. Rows are added where the ranks cannot share them equally; they belong to no token."""


_WHOLE = Replicate()


@dataclass(frozen=True)
class Rule:
    """One row of a family's table.

    Attributes:
        pattern: a parameter name, with `{layer}` (any word in braces) for a whole number.
        placement: how the parameter is divided; a tuple where several mesh axes divide it, in order.
        role: what its layer does at its boundary.
    """

    pattern: str
    placement: Placement | tuple[Placement, ...] = _WHOLE
    role: Role = Role.REPLICATED

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The placement as a tuple."""
        return self.placement if isinstance(self.placement, tuple) else (self.placement,)

    def matches(self, name: str) -> bool:
        """Whether the pattern describes the whole name."""
        return self._regex.fullmatch(name) is not None

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(_PLACEHOLDER.sub(r"\\d+", re.escape(self.pattern)))


@dataclass(frozen=True)
class RuleTable:
    """All rules of a family; each parameter must match exactly one of them.

    Attributes:
        rules: the rows; their order has no meaning.
    """

    rules: tuple[Rule, ...]

    def match(self, name: str) -> Rule:
        """The rule of one parameter.

        Args:
            name: parameter name.

        Returns:
            The only rule whose pattern describes the name.

        Raises:
            UserError: if no rule or more than one describes it.
        """
        return self.match_all([name])[name]

    def match_all(self, names: Iterable[str]) -> dict[str, Rule]:
        """The rules of many parameters.

        Args:
            names: parameter names.

        Returns:
            Name to its rule, in the order of the names.

        Raises:
            UserError: one line for every group of names that no rule or more than one describes.
        """
        matches = {name: [rule for rule in self.rules if rule.matches(name)] for name in names}
        wrong = [name for name, rules in matches.items() if len(rules) != 1]
        if wrong:
            raise UserError(
                "\n".join(self._complain(text, matches[members[0]], members[0]) for text, members in collapse(wrong))
            )
        return {name: rules[0] for name, rules in matches.items()}

    def _complain(self, text: str, rules: list[Rule], name: str) -> str:
        if rules:
            return f"{text}: {len(rules)} rules match: {name_values(rule.pattern for rule in rules)}. Allowed: one."
        guess = nearest(re.sub(r"\b\d+\b", "{layer}", name), [rule.pattern for rule in self.rules])
        hint = f" Did you mean {guess}?" if guess else ""
        return f"{text}: no rule matches. Allowed: one rule for each parameter.{hint}"
