"""What a request asks for: how its tokens are chosen and when its answer ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mf_config.problems import UserError

_LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """Settings of one request, checked when they are made.

    Attributes:
        temperature: divides the logits before a token is drawn; 0 takes the likeliest token, whatever top_k, top_p and
            seed are.
        top_k: draw among this many likeliest tokens (of equal ones those with the lowest ids); 0 and -1 mean all.
        top_p: draw among the fewest likeliest tokens whose probabilities reach this sum; above 0, up to 1.
        repetition_penalty: for each token of the prompt and of the answer so far, a positive logit is divided by it and
            a negative one multiplied; above 0, and 1 changes nothing.
        seed: 0 to 2^64 - 1. The same seed, prompt and settings give the same tokens, beside whatever other requests;
            None takes another seed for each request.
        max_tokens: most tokens of the answer, from 0; the model's context bounds it too.
        stop: text before which the answer ends, one or several.
        stop_token_ids: tokens that end the answer, beside the model's own end tokens; they add no text.
        ignore_eos: go on after the model's own end tokens.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    max_tokens: int = 16
    stop: str | Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        """Raises: UserError: a value is of the wrong kind or out of range; it names the setting."""
        penalty, limit, seed = self.repetition_penalty, self.max_tokens, self.seed
        _check("temperature", self.temperature, _is_number(self.temperature) and self.temperature >= 0, "from 0")
        _check("top_k", self.top_k, _is_integer(self.top_k) and self.top_k >= -1, "an integer from -1")
        _check("top_p", self.top_p, _is_number(self.top_p) and 0 < self.top_p <= 1, "above 0, up to 1")
        _check("repetition_penalty", penalty, _is_number(penalty) and penalty > 0, "above 0")
        seed_fits = seed is None or (_is_integer(seed) and 0 <= seed <= _LARGEST_SEED)
        _check("seed", seed, seed_fits, "an integer from 0 to 2^64 - 1")
        _check("max_tokens", limit, _is_integer(limit) and limit >= 0, "an integer from 0")
        stops_fit = _is_list(self.stop_strings) and all(isinstance(text, str) and text for text in self.stop_strings)
        _check("stop", self.stop, stops_fit, "text that is not empty, or a list of it")
        ids_fit = _is_list(self.stop_token_ids) and all(_is_integer(i) and i >= 0 for i in self.stop_token_ids)
        _check("stop_token_ids", self.stop_token_ids, ids_fit, "a list of integers from 0")
        _check("ignore_eos", self.ignore_eos, isinstance(self.ignore_eos, bool), "True or False")

    @property
    def stop_strings(self) -> Sequence[str]:
        """The texts of `stop`, however many there are."""
        return (self.stop,) if isinstance(self.stop, str) else self.stop


def _check(name: str, value: object, fits: bool, allowed: str) -> None:
    if not fits:
        raise UserError(f"{name}: {value!r} can't be used. Allowed: {allowed}.")


def _is_integer(value: object) -> bool:
    """Whether it is a whole number; Python counts True as one, a person does not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    """Whether it is a finite number."""
    return _is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
