"""MindSpore's own parallelism: the compiler divides one graph of the whole job, and inserts the communication.

The plan is the same as of the cells in `mf_parallel.tensor_parallel` and its neighbours; here it only says the strategy
of each operator, and what the compiler reports afterwards can be compared with it. Ascend alone has this.
"""
