"""The nearest valid name for a mistyped one."""

from collections.abc import Iterable

_LETTERS_PER_MISTAKE = 4
_MOST_MISTAKES = 3
"""Letters dropped, added, replaced or swapped: one in four, at most three; more make another word."""
_TOO_MANY = _MOST_MISTAKES + 1
_SHORTEST = 3
"""Letters of a word of which one may be wrong."""
_SEPARATORS = str.maketrans("", "", "-_ ")

_SYNONYMS = {
    "lr": "learning_rate",
    "dp": "data_parallel",
    "mp": "model_parallel",
    "tp": "model_parallel",
    "pp": "pipeline_stage",
    "cp": "context_parallel",
    "ep": "expert_parallel",
    "seq_len": "seq_length",
    "max_seq_len": "seq_length",
    "sequence_length": "seq_length",
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "num_key_value_heads": "n_kv_heads",
    "num_kv_heads": "n_kv_heads",
    "rope_theta": "theta",
    "n_layers": "num_layers",
    "n_heads": "num_heads",
    "warmup": "warmup_steps",
    "num_epochs": "epochs",
    "training": "train",
    "evaluate": "eval",
    "inference": "predict",
    "pretrain": "train",
    "npu": "Ascend",
}
"""Words of other tools that no edit distance finds."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """The choice that was probably meant.

    Args:
        name: what was written.
        choices: the valid names.
    Returns:
        One of `choices`, or an empty string where none is near enough to be sure.
    """
    known = list(choices)
    if _SYNONYMS.get(name.lower()) in known:
        return _SYNONYMS[name.lower()]
    word = _fold(name)
    found = ((_mistakes(word, _fold(choice)), index) for index, choice in enumerate(known))
    least, index = min(found, default=(_TOO_MANY, 0))
    return known[index] if least < _TOO_MANY else ""


def _fold(name: str) -> str:
    """The name without what is typed wrongly most often: case, and what separates words."""
    return name.lower().translate(_SEPARATORS)


def _mistakes(word: str, choice: str) -> int:
    """How many letters were dropped, added, replaced or swapped with the next; `_TOO_MANY` for another word.

    Source: Damerau 1964, A technique for computer detection and correction of spelling errors; the restricted distance.
    """
    if word == choice:
        return 0
    most = min(_MOST_MISTAKES, max(1, len(choice) // _LETTERS_PER_MISTAKE))
    if abs(len(word) - len(choice)) > most or _names_another(word, choice):
        return _TOO_MANY
    # A mistake takes at most one letter from the word's set and adds one: most choices are done with here.
    if len(set(word) ^ set(choice)) > 2 * most:
        return _TOO_MANY
    before: list[int] = []
    row = list(range(len(choice) + 1))
    for i, letter in enumerate(word, 1):
        before, above, row = row, before, [i]
        for j, wanted in enumerate(choice, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and (letter, word[i - 2]) == (choice[j - 2], wanted):
                least = min(least, above[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            return _TOO_MANY
    return row[-1] if row[-1] <= most else _TOO_MANY


def _names_another(word: str, choice: str) -> bool:
    """Whether one letter may make the difference: a version number, or most of a word of two letters."""
    if len(choice) < _SHORTEST:
        return sorted(word) != sorted(choice)
    versions = {letter for letter in word if letter.isdigit()}, {letter for letter in choice if letter.isdigit()}
    return versions[0] != versions[1] and all(versions)
