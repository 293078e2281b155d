"""Options of the command line that are settings of a request, and options that say how a model is loaded."""

import argparse
from collections.abc import Mapping
from typing import Any

from mf_infer.load_options import WEIGHT_TYPES

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "max_tokens": {"type": int, "metavar": "N", "help": "most tokens of the answer"},
    "min_tokens": {"type": int, "metavar": "N", "help": "fewest tokens of the answer before it may end"},
    "temperature": {
        "type": float,
        "metavar": "T",
        "help": "divides the logits; 0 takes the likeliest token each time",
    },
    "top_k": {"type": int, "metavar": "K", "help": "draw among the K likeliest tokens; 0 for all"},
    "top_p": {
        "type": float,
        "metavar": "P",
        "help": "draw among the likeliest tokens that together reach probability P",
    },
    "min_p": {
        "type": float,
        "metavar": "P",
        "help": "draw among the tokens at least P times as likely as the likeliest",
    },
    "typical_p": {
        "type": float,
        "metavar": "P",
        "help": "draw among the tokens of most typical surprise that together reach probability P",
    },
    "repetition_penalty": {
        "type": float,
        "metavar": "R",
        "help": "makes tokens of prompt and answer less likely; 1 for none",
    },
    "presence_penalty": {"type": float, "metavar": "A", "help": "taken off the logit of each token of the answer"},
    "frequency_penalty": {"type": float, "metavar": "A", "help": "the same, times how often the answer has it"},
    "no_repeat_ngram_size": {"type": int, "metavar": "N", "help": "no run of N tokens comes twice; 0 for no limit"},
    "n": {"type": int, "metavar": "N", "help": "answers to each prompt, with --json or --output"},
    "best_of": {"type": int, "metavar": "N", "help": "answers that are drawn, of which the likeliest n are given"},
    "num_beams": {"type": int, "metavar": "N", "help": "partial answers that beam search keeps; 1 for no search"},
    "length_penalty": {
        "type": float,
        "metavar": "A",
        "help": "beam search divides an answer's score by its length to this power",
    },
    "seed": {"type": int, "metavar": "SEED", "help": "the same seed draws the same tokens"},
    "stop": {
        "action": "append",
        "metavar": "TEXT",
        "help": "end the answer before this text; may be given several times",
    },
    "logprobs": {"type": int, "metavar": "N", "help": "give log-probabilities too, with --json or --output"},
}
"""Options that are settings of `SamplingParams` by the same names."""


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Declare the options that are settings of a request."""
    group = parser.add_argument_group("settings", "what is not given is taken from the model's own settings")
    for name, details in _SETTINGS.items():
        group.add_argument(f"--{name.replace('_', '-')}", **details)


def given_settings(parsed: argparse.Namespace) -> dict[str, Any]:
    """The settings that the person has given, by their names in `SamplingParams`."""
    return {name: getattr(parsed, name) for name in _SETTINGS if getattr(parsed, name) is not None}


def add_load_options(parser: argparse.ArgumentParser) -> None:
    """Declare the model and the options that say how it is loaded."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a Hugging Face directory, an mf checkpoint, a GGUF file, or a run's output_dir (its newest checkpoint)",
    )
    group = parser.add_argument_group("loading")
    group.add_argument(
        "--config", metavar="FILE", help="a run file that describes the model, for weights such as MindFormers' .ckpt"
    )
    group.add_argument("--adapter", metavar="DIR", help="a folder with a LoRA, which is merged in, or a prefix")
    group.add_argument("--weights", choices=WEIGHT_TYPES, default="float32", help="int8 takes a quarter of the memory")
    group.add_argument("--batch-size", type=int, default=8, metavar="N", help="most answers computed together")
    group.add_argument(
        "--num-blocks",
        type=int,
        metavar="N",
        help="blocks of the cache, of 16 tokens each by default",
    )
    group.add_argument(
        "--tensor-parallel", type=int, default=1, metavar="N", help="processes that divide the matrices of the model"
    )
