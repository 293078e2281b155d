"""Keys of attention beyond Llama's: heads of a width of their own, and windows."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import key
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys


@dataclass(frozen=True, kw_only=True)
class UnbiasedKeys(DecoderKeys):
    """A decoder without biases."""

    __slots__ = ()

    qkv_has_bias: bool = again(DecoderKeys, "qkv_has_bias", False, allowed=(False,))


@dataclass(frozen=True, kw_only=True)
class HeadWidthKeys(DecoderKeys):
    """A decoder whose heads together may be wider or narrower than the residual stream."""

    __slots__ = ()

    kv_channels: int | None = key("Width of a head; hidden_size / num_heads where not given.", None, minimum=1)

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.kv_channels or self.hidden_size // self.num_heads

    def head_problems(self) -> Iterator[tuple[str, str, str]]:
        """As for all decoders; where the width is given, hidden_size may be any."""
        found = DecoderKeys.head_problems(self)
        yield from (problem for problem in found if self.kv_channels is None or problem[0] != "hidden_size")
        if self.kv_channels is not None and self.kv_channels % 2:
            yield "kv_channels", f"{self.kv_channels} is odd, so it can't be rotated", "an even width"


@dataclass(frozen=True, kw_only=True)
class WindowKeys:
    """A window of the last tokens."""

    __slots__ = ()

    sliding_window: int | None = key(
        "Tokens that a query sees, itself among them; None for all before it.", None, minimum=1, unit="tokens"
    )
