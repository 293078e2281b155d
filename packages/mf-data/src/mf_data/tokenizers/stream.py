"""Text out of token ids that arrive one by one."""

from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.pieces import PieceReader


class TextStream:
    """Decodes ids as they come and never hands out a part of a character.

    What `push` and `finish` return, joined, is the text that `decode` makes of all the ids at once. Each character is
    handed out with the id that completes it; bytes that can't become one give U+FFFD as soon as that is certain.
    """

    def __init__(self, tokenizer: Tokenizer, skip_special_tokens: bool = True):
        """Starts an empty stream.

        Args:
            tokenizer: whose ids come.
            skip_special_tokens: leave out special tokens instead of writing them out.
        """
        self._reader = PieceReader(tokenizer.pieces, skip_special_tokens)

    def push(self, token_id: int) -> str:
        """Take the next id; returns the text that is certain now, often empty."""
        return self._reader.read((token_id,))

    def finish(self) -> str:
        """End the stream; returns U+FFFD where it stopped inside a character, else nothing."""
        return self._reader.read((), final=True)
