"""The operators of a network with the strategies by which MindSpore's compiler divides them; Ascend alone has this.

`mf_models.sharded.attach` puts them into a finished network, whose own files know nothing of it.
"""
