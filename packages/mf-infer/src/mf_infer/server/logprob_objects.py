"""The two shapes in which OpenAI's interface gives log-probabilities."""

from collections.abc import Sequence
from typing import Any

from mf_data.tokenizers.base import Tokenizer
from mf_infer.outputs import TokenLogprobs


def chat_logprobs(records: Sequence[TokenLogprobs], tokenizer: Tokenizer) -> dict[str, Any]:
    """The object `logprobs` of a chat completion's choice."""

    def shown(token_id: int, logprob: float) -> dict[str, Any]:
        content = tokenizer.bytes_of(token_id)
        return {"token": token_text(token_id, tokenizer), "logprob": logprob, "bytes": list(content)}

    content = [
        {**shown(record.token_id, record.logprob), "top_logprobs": [shown(*pair) for pair in record.top]}
        for record in records
    ]
    return {"content": content}


def completion_logprobs(
    records: Sequence[TokenLogprobs | None], token_ids: Sequence[int], tokenizer: Tokenizer, offset: int = 0
) -> dict[str, Any]:
    """The object `logprobs` of a completion's choice.

    Args:
        records: of each token; None for a prompt's first one, before which nothing is known.
        token_ids: the tokens.
        tokenizer: the model's.
        offset: characters of the text before them.
    """
    offsets, content = [], b""
    for token_id in token_ids:
        offsets.append(offset + len(content.decode(errors="ignore")))
        content += tokenizer.bytes_of(token_id)
    return {
        "tokens": [token_text(token_id, tokenizer) for token_id in token_ids],
        "token_logprobs": [record and record.logprob for record in records],
        "top_logprobs": [
            record and {token_text(token_id, tokenizer): logprob for token_id, logprob in record.top}
            for record in records
        ],
        "text_offset": offsets,
    }


def token_text(token_id: int, tokenizer: Tokenizer) -> str:
    r"""A token as text: special ones written out, bytes that are no whole characters as `bytes:\xe6\x89`."""
    content = tokenizer.bytes_of(token_id)
    try:
        return content.decode() or tokenizer.decode([token_id], skip_special_tokens=False)
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in content)
