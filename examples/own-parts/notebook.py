"""Training with a loss, a callback and a model of one's own.

`pip install ./examples/own-parts` adds the three parts to mf by the entry points in its `pyproject.toml`; then a run
configuration names them by `type` like any other. Each is one file, the model one folder:

* `own_parts/tasks/smoothed.py`: the loss,
* `own_parts/callbacks/least_loss.py`: the callback,
* `own_parts/families/kestrel/`: the model.

Run this file as it is, or cell by cell in an editor that knows `# %%`.
"""

# %%
import json
import tempfile
from pathlib import Path

import mf_train
from mf_config import decode, load

folder = Path(tempfile.mkdtemp(prefix="own-parts-"))

# %% [markdown]
# Text to learn: sums that can be found out.

# %%
sums = "\n".join(f"{i} plus {j} is {i + j}." for i in range(30) for j in range(12))
(folder / "sums.txt").write_text(sums)

# %% [markdown]
# The run configuration. A mistake in it would be named with its line, also in the keys of the own parts.

# %%
(folder / "run.yaml").write_text(f"""\
output_dir: {folder}/output
context: {{device_target: CPU}}
trainer: {{type: SmoothedLanguageModelingTrainer, smoothing: 0.05}}
runner_config: {{epochs: 1, batch_size: 8}}
model:
  arch: {{type: KestrelForCausalLM}}
  model_config: {{type: KestrelConfig, seq_length: 24, hidden_size: 32, num_layers: 1, num_heads: 2, vocab_size: 300}}
processor:
  tokenizer: {{type: ByteLevelBPETokenizer, tokenizer_file: {folder}/tokenizer.json, vocab_size: 300}}
train_dataset: &train_dataset
  data_loader: {{type: TextDataLoader, dataset_dir: {folder}/sums.txt}}
train_dataset_task: {{type: CausalLanguageModelDataset, dataset_config: *train_dataset}}
optimizer: {{type: AdamW}}
lr_schedule: {{type: cosine, learning_rate: 3.e-3, warmup_steps: 2}}
callbacks:
  - {{type: LeastLoss}}
  - {{type: CheckpointMonitor, save_checkpoint_steps: 100}}
""")
config = decode(load(str(folder / "run.yaml")))

# %% [markdown]
# The run itself.

# %%
result = mf_train.Trainer(config).run()
print(f"{result.step} steps, loss {result.loss:.3f}, checkpoint {result.checkpoint}")  # noqa: T201 - a notebook shows what it finds

# %% [markdown]
# What the callback kept.

# %%
print(json.loads((folder / "output" / "least_loss.json").read_text()))  # noqa: T201
