"""Words that the remarks on PTX, SASS and GCN share: types, comparisons, functions, thread and block numbers."""

TYPES = {
    **{"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f16x2": "two float16"},
    **{"b8": "1 byte", "u8": "uint8", "s8": "int8", "b16": "2 bytes", "u16": "uint16", "s16": "int16"},
    **{"b32": "4 bytes", "u32": "uint32", "s32": "int32", "b64": "8 bytes", "u64": "uint64", "s64": "int64"},
    **{"i16": "int16", "i32": "int32", "i64": "int64"},
    **{"b128": "16 bytes", "tf32": "tf32", "e4m3": "float8", "e5m2": "float8", "bf16x2": "two bfloat16"},
}
COMPARISONS = {
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
    **{"lo": "<", "ls": "<=", "hi": ">", "hs": ">="},  # PTX, of unsigned integers
    **{"lg": "!=", "neq": "!="},  # GCN, of floats
}
FUNCTIONS = {
    **{"rcp": "1 / x", "rsq": "1 / square root", "rsqrt": "1 / square root", "sqrt": "square root"},
    **{"ex2": "2 to the power of x", "exp": "2 to the power of x"},
    **{"lg2": "logarithm to base 2", "log": "logarithm to base 2"},
    **{"sin": "sine", "cos": "cosine", "tanh": "tanh"},
    **{"rcp64h": "1 / x of float64", "rsq64h": "1 / square root of float64"},
}
# Special registers by their names in PTX; SASS writes the same ones in capitals.
NUMBERS = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
