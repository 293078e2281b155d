"""LoRA weights: read and written in the forms of Hugging Face PEFT and of MindFormers, merged into a base and back."""

from mf_ckpt.lora.adapter import Adapter, LoraPair
from mf_ckpt.lora.config import LoraConfig
from mf_ckpt.lora.merged import MERGE_RECORD, MergedTensors, UnmergedTensors, check_not_merged, merge_record
from mf_ckpt.lora.mindpet import adapter_in, base_of, mindpet_tensors
from mf_ckpt.lora.peft import adapter_files, is_adapter, open_adapter, usual_ties, write_adapter

__all__ = [
    "MERGE_RECORD",
    "Adapter",
    "LoraConfig",
    "LoraPair",
    "MergedTensors",
    "UnmergedTensors",
    "adapter_files",
    "adapter_in",
    "base_of",
    "check_not_merged",
    "is_adapter",
    "merge_record",
    "mindpet_tensors",
    "open_adapter",
    "usual_ties",
    "write_adapter",
]
