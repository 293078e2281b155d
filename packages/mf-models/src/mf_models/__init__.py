"""Large language models on MindSpore: shape-agnostic layers, kernels per device, and families that load Hugging Face weights."""
