"""Safetensors files: strict header, tensors read when they are asked for."""
