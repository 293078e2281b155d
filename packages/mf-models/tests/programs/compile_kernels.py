"""Compiles the kernels for Ascend, in a process that `mf_parallel.simulation.simulate` started."""

from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn

from mf_models.cache import CachedStep
from mf_models.families.llama import LlamaConfig
from mf_models.kernels import select_kernels
from mf_models.networks import build
from mf_parallel.simulation.graphs import CompiledGraph, compile_graph

B, N, K, T, H, D, F = 2, 4, 2, 8, 12, 16, 24
"""Batch, query heads, key/value heads, tokens, head dim (no multiple of 16), model dim, inner dim."""


class Gradients(nn.Cell):
    """Gradients of sum(kernel(inputs) * weight) for the first `count` inputs."""

    def __init__(self, kernel: Callable[..., Any], count: int, constants: tuple[Any, ...]):
        super().__init__()
        self.kernel = kernel
        self.constants = constants
        self.gradients = ms.grad(self.total, tuple(range(1, count + 1)))

    def total(self, weight: Tensor, *inputs: Tensor) -> Tensor:
        # MindSpore computes with gradients that it knows, and for that it has no bfloat16.
        return (self.kernel(*inputs, *self.constants) * weight).sum()

    def construct(self, weight: Tensor, *inputs: Tensor) -> Any:
        return self.gradients(weight, *inputs)


class Decoding(nn.Cell):
    """One step over blocks of keys and values."""

    def __init__(self, dtype: Any):
        super().__init__()
        self.keys = Parameter(zeros(6, 4, K, D, dtype=dtype), name="keys")
        self.values = Parameter(zeros(6, 4, K, D, dtype=dtype), name="values")
        kernels = select_kernels()
        self.reshape_and_cache = kernels.reshape_and_cache
        self.paged_attention = kernels.paged_attention

    def construct(self, key: Tensor, value: Tensor, slots: Tensor, query: Tensor, tables: Tensor, lens: Tensor) -> Any:
        keys, values = self.reshape_and_cache(key, value, self.keys, self.values, slots)
        return self.paged_attention(query, keys, values, tables, lens, 0.25)


class Update(nn.Cell):
    """One step of AdamW."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, *moments = (Parameter(zeros(D, D), name=name) for name in ("weight", "first", "second"))
        self.first, self.second = moments
        kernels = select_kernels()
        self.rates = kernels.adamw_rates
        self.update = kernels.adamw_update

    def construct(self, gradient: Tensor, step: Tensor, rate: Tensor) -> Any:
        rates = self.rates(step, rate, (0.9, 0.999), 1e-8)
        return self.update(self.weight, (self.first, self.second), gradient, rates, (0.9, 0.999), 0.1)


def zeros(*shape: int, dtype: Any = ms.float32) -> Tensor:
    return Tensor(np.zeros(shape, np.float32), dtype)


def int32(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape, np.int32))


def gradient_cases() -> dict[str, tuple[str, int, tuple[Any, ...], tuple[Any, ...]]]:
    """Name to kernel, number of differentiated inputs, tensors, and constants."""
    heads = (zeros(B, N, T, H), zeros(B, K, T, H), zeros(B, K, T, H))
    tokens_first = (zeros(B, T, N, H), zeros(B, T, K, H), zeros(B, T, K, H))
    angles = (zeros(1, 1, T, H // 2), zeros(1, 1, T, H // 2))
    halves = tuple(zeros(*tensor.shape[:3], 16, dtype=ms.float16) for tensor in heads)
    latent = (zeros(B, 1, T, 40), zeros(B, 1, T, 40), zeros(B, 1, T, 32))
    experts = zeros(4, F, D)
    return {
        "attention, mask of the batch": ("attention", 3, (*heads, zeros(B, T, T)), (0.3,)),
        "attention, one mask": ("attention", 3, (*heads, zeros(1, T, T)), (0.3,)),
        "attention, causal": ("attention", 3, (*heads, zeros(1, T, T)), (0.3, T)),
        "attention, window": ("attention", 3, (*heads, zeros(1, T, T)), (0.3, 3)),
        "attention, float16": ("attention", 3, (*halves, zeros(1, T, T)), (0.3, T)),
        "attention, narrow values": ("attention", 3, (*latent, zeros(1, T, T)), (0.3, T)),
        "attention, mask of each head": ("general_attention", 3, (*heads, zeros(1, N, T, T)), (0.3,)),
        "rotary_attention": ("rotary_attention", 3, (*tokens_first, *angles), (0.3, T)),
        "rotary_attention, window": ("rotary_attention", 3, (*tokens_first, *angles), (0.3, 3)),
        "capped_attention": ("capped_attention", 3, (*heads, zeros(1, T, T)), (0.3, 30.0)),
        "rms_norm": ("rms_norm", 2, (zeros(B, T, D), zeros(D)), (1e-5,)),
        "layer_norm": ("layer_norm", 3, (zeros(B, T, D), zeros(D), zeros(D)), (1e-5,)),
        "rotate": ("rotate", 1, (heads[0], *angles), ()),
        "rotate, a part": ("rotate", 1, (heads[0], zeros(B, 1, T, 2), zeros(B, 1, T, 2)), ()),
        "swiglu": ("swiglu", 2, (zeros(B, T, F), zeros(B, T, F)), ()),
        "geglu": ("geglu", 2, (zeros(B, T, F), zeros(B, T, F)), ()),
        "linear": ("linear", 2, (zeros(B, T, D), zeros(F, D)), ()),
        "cross_entropy": ("cross_entropy", 1, (zeros(B * T, 32), int32(B * T)), ()),
        "expert_linear": ("expert_linear", 2, (zeros(12, 1, D), experts, int32(12)), ()),
        "expert_linear, a block each": ("expert_linear", 2, (zeros(4, 6, D), experts), ()),
    }


def generation_steps() -> dict[str, CompiledGraph]:
    """The steps of generation with a small network: a piece of a prompt, and one token."""
    model = build(LlamaConfig(vocab_size=32, hidden_size=32, num_layers=1, num_heads=2, n_kv_heads=1, seq_length=32))
    step = CachedStep(model, model.new_cache(6, 4))
    places = (int32(B), int32(B), int32(B, 3))
    return {
        "generation, a prompt": compile_graph(step, int32(B, T), *places),
        "generation, one token": compile_graph(step, int32(B, 1), *places),
    }


def compile_all() -> dict[str, dict[str, int]]:
    """How often the graph of each case calls each operator."""
    kernels = select_kernels()
    graphs = {}
    for name, (kernel, count, tensors, constants) in gradient_cases().items():
        cell = Gradients(getattr(kernels, kernel), count, constants)
        graphs[name] = compile_graph(cell, Tensor(1.0, ms.float32), *tensors)
    rows = (zeros(B, K, D, dtype=ms.float16), zeros(B, K, D, dtype=ms.float16), int32(B))
    decoding = (*rows, zeros(B, N, D), int32(B, 3), int32(B))
    graphs["paged_attention"] = compile_graph(Decoding(ms.float16), *decoding)
    graphs |= generation_steps()
    graphs["adamw_update"] = compile_graph(Update(), zeros(D, D), Tensor(1.0, ms.float32), Tensor(0.1, ms.float32))
    return {name: dict(graph.operators()) for name, graph in graphs.items()}
