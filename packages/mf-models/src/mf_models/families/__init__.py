"""One module or folder a model family.

A family with a network is a folder: `config` (host only), `model`, `keys` and `sharding`. One that is only checked so
far is the module of its configuration.
"""
