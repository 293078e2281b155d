"""The trainer of mf: pretrain, finetune and evaluate large language models on MindSpore from one run configuration."""
