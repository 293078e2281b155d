"""The runs that the training benchmarks measure: three sizes of a Llama on text that every Python has."""

from pathlib import Path

SIZES = {
    # layers, width, inner width, vocabulary, tokens of a row, rows of a step
    "small": (6, 256, 704, 4096, 256, 8),
    "large": (12, 512, 1408, 16384, 512, 4),
    "wide": (12, 1024, 2816, 16384, 512, 4),
}
HEADS, KV_HEADS = 8, 4
BATCHES = {"small": 8, "large": 4, "wide": 2}
"""Steps of a round. What programs round differently doubles every ten steps of the large model or so."""

LEARNING_RATE, BETAS, EPSILON, DECAY, MAX_NORM = 1e-4, (0.9, 0.95), 1e-8, 0.1, 1.0

_RUN = """\
seed: 0
run_mode: train
output_dir: {folder}/output
context: {{mode: 0, device_target: CPU}}
trainer: {{type: CausalLanguageModelingTrainer}}
runner_config: {{epochs: 1, batch_size: {rows}, sink_mode: False}}
model:
  arch: {{type: LlamaForCausalLM}}
  model_config:
    {{type: LlamaConfig, seq_length: {tokens}, hidden_size: {width}, num_layers: {layers}, num_heads: {heads},
      n_kv_heads: {kv_heads}, intermediate_size: {inner}, vocab_size: {vocabulary}, rms_norm_eps: 1.e-5,
      pad_token_id: 0, bos_token_id: 1, eos_token_id: 2}}
processor:
  tokenizer: {{type: ByteLevelBPETokenizer, tokenizer_file: {folder}/tokenizer.json, vocab_size: {vocabulary}}}
train_dataset: &train_dataset
  data_loader: {{type: PythonLibraryDataLoader, shuffle: True, num_samples: {samples}}}
  drop_remainder: True
train_dataset_task: {{type: CausalLanguageModelDataset, dataset_config: *train_dataset}}
optimizer: {{type: AdamW, betas: [{beta1}, {beta2}], eps: {epsilon}, weight_decay: {decay}, learning_rate: {rate}}}
runner_wrapper: {{type: MFTrainOneStepCell, scale_sense: 1.0, use_clip_grad: True, max_grad_norm: {norm}}}
"""


def run_configuration(size: str, folder: Path) -> str:
    """The run configuration of a size, YAML.

    Args:
        size: a name in `SIZES`.
        folder: where the run writes.
    """
    layers, width, inner, vocabulary, tokens, rows = SIZES[size]
    return _RUN.format(
        folder=folder,
        layers=layers,
        width=width,
        inner=inner,
        vocabulary=vocabulary,
        tokens=tokens,
        rows=rows,
        samples=rows * BATCHES[size],
        heads=HEADS,
        kv_heads=KV_HEADS,
        beta1=BETAS[0],
        beta2=BETAS[1],
        epsilon=EPSILON,
        decay=DECAY,
        rate=LEARNING_RATE,
        norm=MAX_NORM,
    )
