"""Run by test_fused.py in a process of its own: the kernels, compiled for a GPU that need not be there."""

from typing import Any

import torch
import triton
import triton.compiler
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

from tam.models.launch import LAUNCHES, Kernels, rows_at_once
from tam.models.launch_rows import room_for

WIDTH = 128
KINDS = {"starts": "i32", "lengths": "i32", "before_lengths": "i32", "ids": "i64", "source": "i64"}
SIZES = ((6, 0, 4), (100, 0, 2), (6, 5, 4), (22, 8, 4), (128, 64, 2))
"""Lengths of sequences, and of what comes before them, and the heads; with 2 they need the most room."""
HOPPER = GPUTarget("cuda", 90, 32)
NUMBERS = {
    "P", "L", "first", "Q", "P_attention", "P_mlp", "block", "blocks", "shares", "tiles", "row_stride",
    "place_stride", "tokens", "count", "each", "X", "stride", "width",
}  # fmt: skip
IN_FLOAT = {
    "h_in", "h_out", "g_out", "g_in", "g_residual", "inverses", "next_inverses", "b_qkv", "next_b_qkv", "b_o",
    "b_inner", "b_out", "weights", "biases", "squares", "lines", "g_weights", "g_norms", "g", "parts",
    "before", "g_before", "rows", "out",
}  # fmt: skip


def tiles(kernel: str, span: int, part: int) -> dict[str, tuple[int, int]]:
    """The tiles that a kernel is given by descriptors."""
    if kernel.startswith(("attention", "weight", "fold", "unfold", "embedding", "gather", "norm_gradients")):
        return {}
    whole, some = (span, WIDTH), (span, part)
    names = dict.fromkeys(("h_in", "h_out", "g_out", "g_in", "g_half", "g_kept", "g_residual"), whole)
    names |= dict.fromkeys(("normed", "next_normed", "g_qkv"), whole)
    names |= dict.fromkeys(("mixed", "g_mixed", "inner", "g_inner", "qkv", "next_qkv"), some)
    names |= {"w_o": (WIDTH, part), "w_out": (WIDTH, part), "w_inner": (part, WIDTH)}
    names |= dict.fromkeys(("w_qkv", "next_w_qkv"), (part, WIDTH))
    return names | ({"w_qkv": (WIDTH, WIDTH)} if kernel == "project_backward" else {})


def launch(name: str, length: int, before: int, heads: int) -> dict[str, Any]:
    """How a kernel is launched on sequences so long, with so many places before them."""
    if name not in LAUNCHES:
        return {"span": rows_at_once(WIDTH), "num_warps": 4, "num_stages": 3}
    values = torch.empty(1, 1, 2, heads, before, WIDTH // heads)
    seen = [values, torch.empty(1)] if before else []
    sizes = (heads, 1, 0, length)
    found = Kernels(torch.empty(1, length, WIDTH), (), seen, sizes, half=True)
    span = room_for(found.sequences(name) * before) if before else 0
    return found.launch(name) | {"before_span": span}


def compile_kernel(kernel: JITFunction[Any], some: bool, packed: bool, *size: int) -> Any:
    """Compile a kernel as it is launched: with pointers to `some` places, sequences packed, places before."""
    name = kernel.__name__
    launched = launch(name, *size)
    options = {key: launched.pop(key) for key in ("num_warps", "num_stages", "maxnreg") if key in launched}
    span, part = launched["span"], launched.get("part")
    constants = {"part": WIDTH} | launched | {"D": WIDTH, "H": size[2], "dtype": tl.bfloat16}
    constants |= {"sums": 128, "packed": packed, "causal": True, "some": some, "last": some}
    if name in ("mlp_backward", "attention_backward"):
        constants["weights"] = True
    descriptors = tiles(name, span, part or 0)
    signature: dict[str, str] = {}
    for argument in kernel.arg_names:
        kind = "fp32" if argument in IN_FLOAT else KINDS.get(argument, "bf16")
        if argument in constants:
            signature[argument] = "constexpr"
        elif argument in NUMBERS:
            on_gpu = packed and argument.startswith("P") and not name.startswith("attention")
            signature[argument] = "*i32" if on_gpu else "i32"
        elif argument not in descriptors or (some and argument in ("h_in", "g_residual")):
            signature[argument] = f"*{kind}"
        else:
            signature[argument] = f"tensordesc<{kind}[{', '.join(map(str, descriptors[argument]))}]>"
    values = {(place,): constants[name] for place, name in enumerate(kernel.arg_names) if name in constants}
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, kind in enumerate(signature.values())
        if kind.startswith("*")
    }
    source = triton.compiler.ASTSource(kernel, signature, values, aligned)
    return triton.compile(source, target=HOPPER, options=options)


if __name__ == "__main__":
    from tam.models import kernels

    for each in vars(kernels).values():
        if isinstance(each, JITFunction) and not each.__name__.startswith("_"):
            name = each.__name__
            for some, packed in ((False, False), (True, False), (False, True)):
                if all(given in each.arg_names for given, on in (("some", some), ("packed", packed)) if on):
                    for size in SIZES if packed and name.startswith("attention") else SIZES[:1]:
                        print(name, compile_kernel(each, some, packed, *size).metadata.shared)
