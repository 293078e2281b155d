"""Baichuan 2: Llama with a head of rows of length 1; the larger size has a penalty of distance as positions."""

from mf_models.families.baichuan2.config import Baichuan2Config

__all__ = ["Baichuan2Config"]
