"""Faster versions of the plain torch code: a hand-written transformer block for CPUs, and kernels for GPUs.

They compute the same numbers and are optional. `tam.models.fast.engine` is the entry point for the rest of
tam and chooses between plain code and the two engines; `tam.models.fast.context` has switches for them.
`TAM_PLAIN=1` in the environment turns both engines off.
"""
