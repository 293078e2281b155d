"""What generation does where a request does not say: read in prediction only."""

from dataclasses import dataclass

from mf_config.schema import PREDICT_MODES, key

_NO_SCORES = "predictions hold tokens and text; scores are not written"


@dataclass(frozen=True, kw_only=True)
class GenerationKeys:
    """Length of an answer and how its tokens are drawn."""

    __slots__ = ()

    max_decode_length: int = key(
        "Most tokens of prompt and answer together.", 1024, minimum=1, unit="tokens", modes=PREDICT_MODES
    )
    max_length: int | None = key(
        "Another name of max_decode_length, over which it wins.",
        None,
        minimum=1,
        unit="tokens",
        modes=PREDICT_MODES,
    )
    max_new_tokens: int | None = key(
        "Most tokens of the answer; wins over max_decode_length.",
        None,
        minimum=1,
        unit="tokens",
        modes=PREDICT_MODES,
    )
    min_length: int = key(
        "Fewest tokens of prompt and answer together; no end token is drawn before.",
        0,
        minimum=0,
        unit="tokens",
        modes=PREDICT_MODES,
    )
    min_new_tokens: int | None = key(
        "Fewest tokens of the answer; no end token is drawn before.",
        None,
        minimum=0,
        unit="tokens",
        modes=PREDICT_MODES,
    )
    do_sample: bool = key("Draw tokens at random instead of taking the likeliest.", True, modes=PREDICT_MODES)
    top_k: int = key("Draw among this many likeliest tokens; 0 for all.", 5, minimum=0, modes=PREDICT_MODES)
    top_p: float = key(
        "Draw among the likeliest tokens that together reach this probability.",
        1.0,
        above=0,
        maximum=1,
        modes=PREDICT_MODES,
    )
    temperature: float = key("Divides the logits before drawing.", 1.0, minimum=0, modes=PREDICT_MODES)
    repetition_penalty: float = key(
        "Divides positive logits of tokens already seen, multiplies negative ones; 1 for none.",
        1.0,
        above=0,
        modes=PREDICT_MODES,
    )
    encoder_repetition_penalty: float = key(
        "Repetition penalty of an encoder's tokens.",
        1.0,
        above=0,
        modes=PREDICT_MODES,
        inert="MindFormers reads it but never applies it",
    )
    num_beams: int = key(
        "Candidate answers that beam search keeps, which takes the likeliest whole one instead of drawing; 1 for none.",
        1,
        minimum=1,
        modes=PREDICT_MODES,
    )
    renormalize_logits: bool = key(
        "Make the logits logarithms of probabilities before each step of drawing.",
        False,
        modes=PREDICT_MODES,
        inert="the probabilities that tokens are drawn with are the same",
    )
    return_dict_in_generate: bool = key(
        "Return a section instead of tokens.", False, modes=PREDICT_MODES, inert=_NO_SCORES
    )
    output_scores: bool = key("Return processed logits too.", False, modes=PREDICT_MODES, inert=_NO_SCORES)
    output_logits: bool = key("Return raw logits too.", False, modes=PREDICT_MODES, inert=_NO_SCORES)
