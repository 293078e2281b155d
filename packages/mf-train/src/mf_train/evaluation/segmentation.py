"""Text as words, also where it has no spaces between them."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from mf_config.problems import UserError


@cache
def words_of() -> Callable[[str], list[str]]:
    """What cuts text into words: jieba, whose words the published scores of Chinese texts count.

    Raises:
        UserError: it is not installed.
    """
    try:
        # On demand: only the metrics of written Chinese text need it.
        jieba = import_module("jieba")
    except ModuleNotFoundError as error:
        raise UserError(
            "metric: words of Chinese text are found by the package jieba, which is not installed. "
            "Allowed: pip install 'mf-train[chinese]', or other metrics."
        ) from error
    cut: Callable[[str], list[str]] = jieba.lcut
    return cut
