"""LoRA: products of two narrow matrices beside the network's own, applied to a finished network from outside."""

from mf_models.pet.lora.config import LoraConfig

__all__ = ["LoraConfig"]
