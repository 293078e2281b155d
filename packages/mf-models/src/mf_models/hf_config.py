"""Strict reading of a Hugging Face config.json: what is not understood is refused, lest the model load and be wrong."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

from mf_config.problems import ConfigError, Location, Problem, name_values
from mf_config.suggest import nearest

_ABSENT = object()


class HfConfig:
    """Hands out the values of a config.json one by one, and gathers what is wrong until `finish`.

    A wrong or missing value is handed out as a harmless one, so that reading goes on to the next mistake.
    """

    def __init__(self, data: dict[str, Any], where: str, section: str = ""):
        """Takes the file's content and its name for messages, or one section of it and the section's name."""
        self._rest = dict(data)
        self._location = Location(where, 0)
        self._path = f"{section}." if section else ""
        self._problems: list[Problem] = []
        self._known: list[str] = []
        self._sections: list[HfConfig] = []
        self._flatten_rope_parameters()

    def has(self, name: str) -> bool:
        """Whether the key is there, whatever its value; it still has to be asked for."""
        return name in self._rest

    def count(self, name: str) -> int:
        """A positive integer that must be there."""
        value = self._take(name, _ABSENT)
        return value if self._fits(name, value, int, "a positive integer") and self._above_zero(name, value) else 1

    def optional_count(self, name: str, absent: int | None = None) -> int | None:
        """A positive integer; None where null."""
        value = self._take(name, absent)
        if value is None:
            return None
        return value if self._fits(name, value, int, "a positive integer") and self._above_zero(name, value) else None

    def whole(self, name: str, default: int) -> int:
        """A whole number from 0."""
        value = self._take(name, default)
        if not self._fits(name, value, int, "a whole number from 0"):
            return default
        if value < 0:
            self.refuse(name, f"{value!r} is out of range", "from 0")
        return int(value)

    def number(self, name: str, default: float | None = None) -> float:
        """A positive number; one that must be there where there is no default."""
        value = self._take(name, _ABSENT if default is None else default)
        is_number = self._fits(name, value, (int, float), "a positive number") and self._above_zero(name, value)
        return float(value) if is_number else default or 1.0

    def optional_number(self, name: str, absent: float | None = None) -> float | None:
        """A positive number; None where null."""
        value = self._take(name, absent)
        if value is None:
            return None
        is_number = self._fits(name, value, (int, float), "a positive number") and self._above_zero(name, value)
        return float(value) if is_number else None

    def share(self, name: str, default: float) -> float:
        """A number from 0 to 1."""
        value = self._take(name, default)
        if not self._fits(name, value, (int, float), "a number from 0 to 1"):
            return default
        if not 0 <= value <= 1:
            self.refuse(name, f"{value!r} is out of range", "from 0 to 1")
        return float(value)

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

    def choice(self, name: str, allowed: Sequence[str], absent: str) -> str:
        """One of several words.

        Args:
            name: the key.
            allowed: values that it may have.
            absent: what a missing key means.
        """
        value = self._rest.get(name, absent)
        self.require(name, allowed, absent)
        return value if value in allowed else absent

    def section(self, name: str) -> "HfConfig | None":
        """A section, whose mistakes count with those of the file; None where absent or null."""
        value = self._take(name, None)
        if value is None or not self._fits(name, value, dict, "a section or null"):
            return None
        section = HfConfig(value, self._location.file, f"{self._path}{name}")
        self._sections.append(section)
        return section

    def entries(self, name: str) -> int:
        """How many entries a section has, whatever they are; 0 where absent or null."""
        value = self._take(name, None)
        return len(value) if value is not None and self._fits(name, value, dict, "a section or null") else 0

    def words(self, name: str) -> list[str]:
        """A list of words; empty where absent or null."""
        value = self._take(name, None) or []
        return [str(item) for item in value] if self._fits(name, value, list, "a list of words") else []

    def places(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers from 0; empty where absent or null."""
        value = self._take(name, None) or []
        if not self._fits(name, value, list, "a list of whole numbers"):
            return ()
        fits = [self._fits(name, item, int, "whole numbers") for item in value]
        return tuple(value) if all(fits) else ()

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of positive numbers that must be there."""
        value = self._take(name, _ABSENT)
        if not self._fits(name, value, list, "a list of numbers"):
            return ()
        fits = [self._fits(name, item, (int, float), "numbers") and self._above_zero(name, item) for item in value]
        return tuple(float(item) for item in value) if all(fits) else ()

    def require(self, name: str, allowed: Sequence[object], absent: object) -> None:
        """Refuse any value but those that this family can do.

        Args:
            name: the key.
            allowed: values that it may have.
            absent: what a missing key means.
        """
        value = self._take(name, absent)
        if value not in allowed:
            self.refuse(name, f"{value!r} is not supported", name_values(allowed))

    def ignore(self, names: Iterable[str]) -> None:
        """Drop keys that change no number."""
        for name in names:
            self._take(name, None)

    def finish(self) -> None:
        """Say what is wrong.

        Raises:
            ConfigError: there was any problem, or keys are left that nobody asked for.
        """
        self._gather()
        self.check(())

    def check(self, problems: Iterable[tuple[str, str, str]]) -> None:
        """Say what a configuration finds wrong with itself.

        Raises:
            ConfigError: there is any problem.
        """
        for name, what, allowed in problems:
            self.refuse(name, what, allowed)
        if self._problems:
            raise ConfigError(self._problems)

    def _gather(self) -> None:
        """Add the keys that nobody asked for, and what is wrong in the sections."""
        for name in sorted(self._rest):
            self.refuse(name, "unknown key", name_values(sorted(self._known)), nearest(name, self._known))
        for section in self._sections:
            section._gather()
            self._problems += section._problems

    def _take(self, name: str, default: object) -> Any:
        self._known.append(name)
        return self._rest.pop(name, default)

    def _fits(self, name: str, value: object, kinds: type | tuple[type, ...], allowed: str) -> bool:
        if value is _ABSENT:
            self.refuse(name, "is missing", allowed)
            return False
        if isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool)):
            return True
        self.refuse(name, f"{value!r} has the wrong type", allowed)
        return False

    def _above_zero(self, name: str, value: float) -> bool:
        if value > 0:
            return True
        self.refuse(name, f"{value!r} is out of range", "above 0")
        return False

    def refuse(self, name: str, what: str, allowed: str, suggestion: str = "") -> None:
        """Note that the value of a key can't be taken; `finish` raises it with all the others."""
        self._problems.append(Problem(self._location, f"{self._path}{name}", what, allowed, suggestion))

    def _flatten_rope_parameters(self) -> None:
        """Newer files hold the base and the scaling in one section: bring them into the older form."""
        section = self._rest.pop("rope_parameters", None)
        if section is None:
            return
        if not isinstance(section, dict):
            self.refuse("rope_parameters", f"{section!r} is not a section", "rope_type and rope_theta")
            return
        scaling = dict(section)
        for name in ("rope_theta", "partial_rotary_factor"):
            if name in scaling:
                self._rest[name] = scaling.pop(name)
        if scaling and scaling != {"rope_type": "default"}:
            self._rest["rope_scaling"] = scaling


class HfReadable:
    """A family's section that is also read from a config.json; the family says how its keys are taken out."""

    __slots__ = ()

    hf_model_types: ClassVar[tuple[str, ...]]

    @classmethod
    def from_hf(cls, data: dict[str, Any], where: str = "config.json") -> Self:
        """Read a Hugging Face configuration.

        Args:
            data: content of config.json.
            where: the file's name in messages.

        Raises:
            ConfigError: keys that are missing, not known, or ask for what this family can't do.
        """
        hf = HfConfig(data, where)
        config = cls.read_hf(hf)
        hf.finish()
        hf.check(config.problems())
        return config

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take every key out of a config.json that the family understands; what is left over is refused."""
        raise NotImplementedError

    def problems(self) -> Iterable[tuple[str, str, str]]:
        """Key name, what is wrong, what is allowed: of what does not fit together."""
        raise NotImplementedError
