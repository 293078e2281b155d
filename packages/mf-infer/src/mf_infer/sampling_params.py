"""What a request asks for: how its tokens are chosen and when its answer ends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mf_infer.checks import check, is_integer, is_list, is_number

_LARGEST_SEED = 2**64 - 1
_LARGEST_BIAS = 10_000
"""More forces or forbids no more, and sums of much more are infinite."""

MOST_LOGPROBS = 20
"""Likeliest tokens that may be asked for beside each token, as in OpenAI's interface."""

BadWord = str | Sequence[int]
"""Text or a run of tokens that an answer must not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """Settings of one request, checked when they are made.

    The scores of the model are changed in the order logit_bias, repetition_penalty, presence and frequency penalty,
    then tokens are forbidden (no_repeat_ngram_size, bad_words, end tokens before min_tokens), divided by temperature,
    and cut by top_k, top_p, min_p and typical_p.

    Attributes:
        n: answers to the prompt, from 1.
        best_of: answers that are drawn, of which the n with the highest mean log-probability are given; n where None.
        num_beams: partial answers that beam search keeps, which takes the likeliest whole answers instead of drawing;
            1 for none. At least n.
        length_penalty: beam search divides the sum of an answer's log-probabilities by its length to this power; -10 to
            10.
        early_stopping: whether beam search ends with the first num_beams whole answers; False goes on while a better
            one seems possible.
        temperature: divides the logits before a token is drawn; 0 takes the likeliest token, whatever top_k, top_p and
            seed are.
        top_k: draw among this many likeliest tokens (of equal ones those with the lowest ids); 0 and -1 mean all.
        top_p: draw among the fewest likeliest tokens whose probabilities reach this sum; above 0, up to 1.
        min_p: draw among the tokens at least this times as likely as the likeliest; 0 to 1.
        typical_p: draw among the fewest tokens of most typical surprise whose probabilities reach this sum; above 0, up
            to 1.
        repetition_penalty: for each token of the prompt and of the answer so far, a positive logit is divided by it and
            a negative one multiplied; 0.001 to 1000, and 1 changes nothing.
        presence_penalty: taken off the logit of each token that the answer has already; -2 to 2.
        frequency_penalty: the same, times how often the answer has it; -2 to 2.
        no_repeat_ngram_size: no run of so many tokens of prompt and answer comes twice; 0 for no limit.
        logit_bias: token id to what is added to its logit; -10000 to 10000.
        bad_words: texts and runs of tokens that the answer must not hold.
        seed: 0 to 2^64 - 1. The same seed, prompt and settings give the same tokens, beside whatever other requests;
            None takes another seed for each request.
        max_tokens: most tokens of the answer, from 0; the model's context bounds it too.
        min_tokens: fewest tokens of the answer before an end token may come; at most max_tokens.
        stop: text before which the answer ends, one or several.
        stop_token_ids: tokens that end the answer, beside the model's own end tokens; they add no text.
        ignore_eos: go on after the model's own end tokens.
        logprobs: give the log-probability of each token of the answer, and of so many likeliest tokens in its place;
            0 to 20, None for none. They are those of the model, before any of the settings above.
        prompt_logprobs: the same for the tokens of the prompt.
    """

    n: int = 1
    best_of: int | None = None
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    no_repeat_ngram_size: int = 0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    bad_words: Sequence[BadWord] = ()
    seed: int | None = None
    max_tokens: int = 16
    min_tokens: int = 0
    stop: str | Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    logprobs: int | None = None
    prompt_logprobs: int | None = None

    def __post_init__(self) -> None:
        """Raises: UserError: a value is of the wrong kind or out of range; it names the setting."""
        self._check_numbers()
        self._check_counts()
        self._check_lists()
        self._check_together()

    @property
    def stop_strings(self) -> Sequence[str]:
        """The texts of `stop`, however many there are."""
        return (self.stop,) if isinstance(self.stop, str) else self.stop

    @property
    def drawn(self) -> int:
        """Answers that are computed, of which `n` are given."""
        return self.best_of or self.n

    def _check_numbers(self) -> None:
        numbers: Sequence[tuple[str, Callable[[float], bool], str]] = (
            ("temperature", lambda value: value >= 0, "from 0"),
            ("top_p", lambda value: 0 < value <= 1, "above 0, up to 1"),
            ("min_p", lambda value: 0 <= value <= 1, "0 to 1"),
            ("typical_p", lambda value: 0 < value <= 1, "above 0, up to 1"),
            ("repetition_penalty", lambda value: 1e-3 <= value <= 1e3, "0.001 to 1000"),
            ("presence_penalty", lambda value: -2 <= value <= 2, "-2 to 2"),
            ("frequency_penalty", lambda value: -2 <= value <= 2, "-2 to 2"),
            ("length_penalty", lambda value: -10 <= value <= 10, "-10 to 10"),
        )
        for name, fits, allowed in numbers:
            value = getattr(self, name)
            check(name, value, is_number(value) and fits(value), allowed)

    def _check_counts(self) -> None:
        for name, least in (
            ("n", 1),
            ("num_beams", 1),
            ("top_k", -1),
            ("no_repeat_ngram_size", 0),
            ("max_tokens", 0),
            ("min_tokens", 0),
        ):
            value = getattr(self, name)
            check(name, value, is_integer(value) and value >= least, f"an integer from {least}")
        for name, least, most, allowed in (
            ("best_of", 1, None, "an integer from 1"),
            ("seed", 0, _LARGEST_SEED, "an integer from 0 to 2^64 - 1"),
            ("logprobs", 0, MOST_LOGPROBS, f"an integer from 0 to {MOST_LOGPROBS}"),
            ("prompt_logprobs", 0, MOST_LOGPROBS, f"an integer from 0 to {MOST_LOGPROBS}"),
        ):
            value = getattr(self, name)
            fits = value is None or (is_integer(value) and value >= least and (most is None or value <= most))
            check(name, value, fits, allowed)
        for name in ("early_stopping", "ignore_eos"):
            check(name, getattr(self, name), isinstance(getattr(self, name), bool), "True or False")

    def _check_lists(self) -> None:
        stops_fit = is_list(self.stop_strings) and all(isinstance(text, str) and text for text in self.stop_strings)
        check("stop", self.stop, stops_fit, "text that is not empty, or a list of it")
        check("stop_token_ids", self.stop_token_ids, _are_tokens(self.stop_token_ids), "a list of integers from 0")
        words_fit = is_list(self.bad_words) and all(
            word and (isinstance(word, str) or _are_tokens(word)) for word in self.bad_words
        )
        check("bad_words", self.bad_words, words_fit, "a list of texts and of lists of tokens, none of them empty")
        bias_fits = isinstance(self.logit_bias, Mapping) and all(
            is_integer(token) and token >= 0 and is_number(added) and abs(added) <= _LARGEST_BIAS
            for token, added in self.logit_bias.items()
        )
        allowed = f"token ids from 0 with a number from -{_LARGEST_BIAS:g} to {_LARGEST_BIAS:g} each"
        check("logit_bias", self.logit_bias, bias_fits, allowed)

    def _check_together(self) -> None:
        check("min_tokens", self.min_tokens, self.min_tokens <= self.max_tokens, f"up to max_tokens {self.max_tokens}")
        if self.best_of is not None:
            check("best_of", self.best_of, self.best_of >= self.n, f"from n {self.n}")
        if self.num_beams > 1:
            check("n", self.n, self.n <= self.num_beams, f"up to num_beams {self.num_beams}")
            for name, absent in (("best_of", None), ("logprobs", None), ("stop", ())):
                value = getattr(self, name)
                check(name, value, value == absent or value == [], "nothing beside num_beams")


def _are_tokens(value: object) -> bool:
    return is_list(value) and all(isinstance(token, int) and is_integer(token) and token >= 0 for token in value)
