"""What a server allows its clients."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mf_config.problems import UserError, name_values
from mf_infer.checks import check, is_integer, is_number
from mf_infer.tools.call_reader import known_formats

KEYS_VARIABLE = "MF_INFER_API_KEYS"
"""Environment variable with API keys, separated by white space or commas."""

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Names, keys and limits.

    Attributes:
        name: what clients call the model.
        keys: API keys, one of which each request must bring; none lets everybody in.
        origins: web pages (`https://example.org`) whose scripts may read answers; none without any.
        max_requests: requests that are answered or wait at the same time, from 1; more are refused.
        max_answers: answers that one request may ask for, from 1: prompts times `n`, `best_of` or `num_beams`.
        max_prompt_tokens: tokens of a prompt, from 1; the model's context where None.
        max_body_bytes: bytes of a request's body, from 1.
        timeout_s: seconds that one request may take, above 0.
        drain_s: seconds that running requests get after the server is told to stop, from 0.
        tool_format: the form in which the model writes calls of tools; the one that its chat template teaches where
            None.
    """

    name: str
    keys: frozenset[str] = field(default=frozenset(), repr=False)
    origins: tuple[str, ...] = ()
    max_requests: int = 256
    max_answers: int = 16
    max_prompt_tokens: int | None = None
    max_body_bytes: int = 2**20
    timeout_s: float = 600.0
    drain_s: float = 30.0
    tool_format: str | None = None

    def __post_init__(self) -> None:
        """Raises: UserError: a value can't be used; it names the option."""
        check("name", self.name, 0 < len(self.name) <= _LONGEST_NAME, f"1 to {_LONGEST_NAME} characters")
        for name in ("max_requests", "max_answers", "max_body_bytes"):
            value = getattr(self, name)
            check(name, value, is_integer(value) and value >= 1, "an integer from 1")
        most = self.max_prompt_tokens
        check("max_prompt_tokens", most, most is None or (is_integer(most) and most >= 1), "an integer from 1")
        check("timeout", self.timeout_s, is_number(self.timeout_s) and self.timeout_s > 0, "seconds above 0")
        check("drain", self.drain_s, is_number(self.drain_s) and self.drain_s >= 0, "seconds from 0")
        form, forms = self.tool_format, known_formats()
        check("tool_format", form, form is None or form in forms, name_values(forms))
        for key in self.keys:
            # The key itself must not reach a terminal or a log.
            check("API key", "of other characters", key.isascii() and key.isprintable(), "printable ASCII characters")


def read_keys(file: Path | None, environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """API keys from a file and from the environment.

    Args:
        file: one key a line; empty lines and lines that begin with `#` are left out.
        environment: may hold more keys in `MF_INFER_API_KEYS`.
    Returns:
        All keys.
    Raises:
        UserError: the file can't be read or holds no key: a server that was meant to be closed must not stand open.
    """
    keys = set(environment.get(KEYS_VARIABLE, "").replace(",", " ").split())
    if file is not None:
        try:
            lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{file}: can't be read: {error}.") from error
        found = {line for line in lines if line and not line.startswith("#")}
        if not found:
            raise UserError(f"{file}: holds no API key. Allowed: one key a line.")
        keys |= found
    return frozenset(keys)
