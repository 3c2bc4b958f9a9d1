"""The same numbers as plain torch, faster: a hand-written block for CPUs, and kernels for GPUs.

All of it is optional. The rest of tam comes in through `tam.models.fast.engine`, which chooses between plain
code and the two engines; `tam.models.fast.context` says what code may do in a context. `TAM_PLAIN=1` in the
environment turns both engines off.
"""
