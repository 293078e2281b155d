"""The characters by which byte-level vocabularies spell bytes."""


def _character_of_byte() -> dict[int, str]:
    """Visible Latin-1 characters stand for themselves, the other bytes for characters from 256 on.

    Source: Radford et al. 2019, Language Models are Unsupervised Multitask Learners (GPT-2), released encoder.
    """
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + n) for n, byte in enumerate(hidden)}


_CHARACTER_OF_BYTE = _character_of_byte()
_BYTE_OF_CHARACTER = {character: byte for byte, character in _CHARACTER_OF_BYTE.items()}


def spell(content: bytes) -> str:
    """The spelling of bytes in a byte-level vocabulary."""
    return "".join(_CHARACTER_OF_BYTE[byte] for byte in content)


def unspell(token: str) -> bytes:
    """The bytes behind a token; one with a character that spells no byte was added and is written as it is."""
    try:
        return bytes(_BYTE_OF_CHARACTER[character] for character in token)
    except KeyError:
        return token.encode()
