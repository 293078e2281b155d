"""Strict reading of a Hugging Face config.json: what is not understood is refused, lest the model load and be wrong."""

from collections.abc import Iterable, Sequence
from typing import Any

from mf_config.problems import ConfigError, Location, Problem, name_values
from mf_config.suggest import nearest

_ABSENT = object()


class HfConfig:
    """Hands out the values of a config.json one by one, and gathers what is wrong until `finish`.

    A wrong or missing value is handed out as a harmless one, so that reading goes on to the next mistake.
    """

    def __init__(self, data: dict[str, Any], where: str):
        """Takes the file's content and its name for messages."""
        self._rest = dict(data)
        self._location = Location(where, 0)
        self._problems: list[Problem] = []
        self._known: list[str] = []
        self._flatten_rope_parameters()

    def count(self, name: str) -> int:
        """A positive integer that must be there."""
        value = self._take(name, _ABSENT)
        return value if self._fits(name, value, int, "a positive integer") and self._above_zero(name, value) else 1

    def optional_count(self, name: str) -> int | None:
        """A positive integer; None where absent or null."""
        value = self._take(name, None)
        if value is None:
            return None
        return value if self._fits(name, value, int, "a positive integer") and self._above_zero(name, value) else None

    def number(self, name: str, default: float) -> float:
        """A positive number."""
        value = self._take(name, default)
        is_number = self._fits(name, value, (int, float), "a positive number") and self._above_zero(name, value)
        return float(value) if is_number else default

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._take(name, default)
        return value if self._fits(name, value, bool, "true or false") else default

    def token(self, name: str, default: int | None) -> int | None:
        """A token id; the default where absent, None where null: there is no such token."""
        value = self._take(name, default)
        return value if value is not None and self._fits(name, value, int, "a token id") else None

    def tokens(self, name: str, default: int) -> int | tuple[int, ...] | None:
        """A token id or a list of them; the default where absent, None where null."""
        value = self._rest.get(name)
        if not isinstance(value, list):
            return self.token(name, default)
        self._take(name, None)
        fits = [self._fits(name, item, int, "token ids") for item in value]
        return tuple(value) if fits and all(fits) else None

    def require(self, name: str, allowed: Sequence[object], absent: object) -> None:
        """Refuse any value but those that this family can do.

        Args:
            name: the key.
            allowed: values that it may have.
            absent: what a missing key means.
        """
        value = self._take(name, absent)
        if value not in allowed:
            self._problem(name, f"{value!r} is not supported", name_values(allowed))

    def ignore(self, names: Iterable[str]) -> None:
        """Drop keys that change no number."""
        for name in names:
            self._take(name, None)

    def finish(self) -> None:
        """Say what is wrong.

        Raises:
            ConfigError: there was any problem, or keys are left that nobody asked for.
        """
        for name in sorted(self._rest):
            self._problem(name, "unknown key", name_values(sorted(self._known)), nearest(name, self._known))
        self.check(())

    def check(self, problems: Iterable[tuple[str, str, str]]) -> None:
        """Say what a configuration finds wrong with itself.

        Raises:
            ConfigError: there is any problem.
        """
        for name, what, allowed in problems:
            self._problem(name, what, allowed)
        if self._problems:
            raise ConfigError(self._problems)

    def _take(self, name: str, default: object) -> Any:
        self._known.append(name)
        return self._rest.pop(name, default)

    def _fits(self, name: str, value: object, kinds: type | tuple[type, ...], allowed: str) -> bool:
        if value is _ABSENT:
            self._problem(name, "is missing", allowed)
            return False
        if isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool)):
            return True
        self._problem(name, f"{value!r} has the wrong type", allowed)
        return False

    def _above_zero(self, name: str, value: float) -> bool:
        if value > 0:
            return True
        self._problem(name, f"{value!r} is out of range", "above 0")
        return False

    def _problem(self, name: str, what: str, allowed: str, suggestion: str = "") -> None:
        self._problems.append(Problem(self._location, name, what, allowed, suggestion))

    def _flatten_rope_parameters(self) -> None:
        """Newer files hold the base and the scaling in one section: bring them into the older form."""
        section = self._rest.pop("rope_parameters", None)
        if section is None:
            return
        if not isinstance(section, dict):
            self._problem("rope_parameters", f"{section!r} is not a section", "rope_type and rope_theta")
            return
        scaling = dict(section)
        if "rope_theta" in scaling:
            self._rest["rope_theta"] = scaling.pop("rope_theta")
        if scaling and scaling != {"rope_type": "default"}:
            self._rest["rope_scaling"] = scaling
