"""What stands before each text, and how it is made; imports no MindSpore."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from mf_config.problems import UserError

METHOD = "MF_PREFIX"
"""The `peft_type` in the settings beside stored prefixes: no other program's, as none stores them in this form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixForm:
    """The learnt rows of all blocks.

    Attributes:
        rows: learnt keys, and values, of each block.
        inner: inner width of the network that makes them; 0 where they are learnt as they are.
        shared: whether the networks of all blocks share their table and first matrix.
        dropout: share of their elements that is dropped in training.
    """

    rows: int
    inner: int = 0
    shared: bool = False
    dropout: float = 0.0

    def settings(self, base: str) -> dict[str, object]:
        """The content of adapter_config.json, beside a base at this place."""
        return {"peft_type": METHOD, "base_model_name_or_path": base, **asdict(self)}

    @classmethod
    def of(cls, settings: dict[str, Any], where: str) -> Self:
        """The inverse of `settings`.

        Args:
            settings: the decoded file.
            where: its name in messages.

        Raises:
            UserError: it speaks of another method, or has other settings.
        """
        if settings.get("peft_type") != METHOD:
            raise UserError(f"{where}: peft_type is {settings.get('peft_type')!r}. Allowed: {METHOD!r}.")
        types = {field.name: type(field.default) for field in fields(cls)} | {"rows": int}
        for name, kind in types.items():
            if type(settings.get(name)) is not kind:
                raise UserError(f"{where}: {name} is {settings.get(name)!r}. Allowed: of type {kind.__name__}.")
        return cls(**{name: settings[name] for name in types})
