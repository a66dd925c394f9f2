"""CuPy and NumPy together: which arguments mix, which are refused, and the messages."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, host, program, source

BASIC = "user_guide/basic"
CORE = "cupy/_core/core.pyx"
AGNOSTIC = documentation(BASIC, "How to write CPU/GPU agnostic code")
INTEROPERABILITY = documentation("user_guide/interoperability", "NumPy")
IMPLICIT = Raises(
    "TypeError",
    "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly.",
)
UNSUPPORTED = Raises("TypeError", "Unsupported type <class 'numpy.ndarray'>")
WHERE = source("cupy/_sorting/search.py", "where")


@program(IMPLICIT, source(CORE, "_ndarray_base.__array__"), "mixing")
def numpy_asarray_of_a_device_array(cp):
    return np.asarray(cp.arange(3))


@program(IMPLICIT, source(CORE, "_ndarray_base.__array__"), "mixing")
def numpy_array_of_a_list_of_device_arrays(cp):
    return np.array([cp.arange(3), cp.arange(3)])


@program(UNSUPPORTED, AGNOSTIC, "mixing")
def a_device_array_plus_a_host_array(cp):
    return cp.arange(3) + np.arange(3)


@program(UNSUPPORTED, source(CORE, "_ndarray_base.__array_ufunc__"), "mixing")
def a_host_array_times_a_device_array(cp):
    return np.arange(3) * cp.arange(3)


@program(UNSUPPORTED, source("cupy/_core/_scalar.pyx", "CScalar"), "mixing")
def a_host_array_without_dimensions_is_refused_too(cp):
    return cp.arange(3) + np.array(1)


@program(
    device([1.0, 2.0, 3.0], "float64"), source("cupy/_core/_scalar.pyx", "CScalar"), "mixing", numpy=True
)
def a_numpy_scalar_mixes(cp):
    return cp.arange(3) + np.float64(1)


@program(
    Raises("TypeError", "Unsupported type <class 'list'>"),
    documentation("user_guide/difference", "Universal Functions only work with CuPy array or scalar"),
    "mixing",
)
def a_ufunc_of_a_list(cp):
    return cp.power([cp.arange(5)], 2)


@program(
    Raises("TypeError", "Unsupported type <class 'list'>"),
    documentation("user_guide/difference", "Universal Functions only work with CuPy array or scalar"),
    "mixing",
)
def the_sine_of_a_list(cp):
    return cp.sin([1.0, 2.0])


@program(
    Raises("TypeError", matching="returned NotImplemented"),
    source(CORE, "_ndarray_base.__array_ufunc__"),
    "mixing",
)
def a_device_array_plus_a_list(cp):
    x = [1, 2, 3]
    return cp.arange(3) + x


@program(
    Raises("TypeError", matching="returned NotImplemented"),
    source(CORE, "_ndarray_base.__array_ufunc__"),
    "mixing",
)
def a_device_array_plus_none(cp):
    return cp.arange(3) + None


@program(UNSUPPORTED, source("cupy/_core/_kernel.pyx", "_preprocess_arg"), "mixing")
def a_ufunc_with_a_host_array_as_output(cp):
    return cp.add(cp.arange(3), 1, out=np.zeros(3, np.int64))


@program(device(3, "int64"), INTEROPERABILITY, "mixing", numpy=True)
def a_numpy_function_of_a_device_array(cp):
    return np.sum(cp.arange(3))


@program(device([1.0, 2.0], "float64"), INTEROPERABILITY, "mixing", numpy=True)
def a_numpy_ufunc_of_a_device_array(cp):
    return np.sqrt(cp.array([1.0, 4.0]))


@program(device([0, 1, 0, 1], "int64"), INTEROPERABILITY, "mixing", numpy=True)
def numpy_joins_device_arrays(cp):
    return np.concatenate([cp.arange(2), cp.arange(2)])


@program(UNSUPPORTED, source("cupy/_core/_kernel.pyx", "_preprocess_arg"), "mixing")
def a_host_array_joined_with_a_device_array(cp):
    return cp.concatenate([cp.zeros(2), np.zeros(2)])


@program(UNSUPPORTED, WHERE, "mixing", "indexing")
def where_with_a_host_condition(cp):
    return cp.where(np.array([True, False]), cp.arange(2), cp.zeros(2))


@program(UNSUPPORTED, WHERE, "mixing", "indexing")
def where_with_a_host_array_to_choose_from(cp):
    return cp.where(cp.array([True, False]), np.arange(2), cp.arange(2))


@program(UNSUPPORTED, WHERE, "mixing", "indexing")
def numpy_where_with_a_host_condition(cp):
    return np.where(np.array([True, False]), cp.arange(2), 0)


@program(UNSUPPORTED, WHERE, "mixing", "indexing")
def numpy_where_with_a_host_array_to_choose_from(cp):
    return np.where(cp.array([True, False]), cp.arange(2), np.zeros(2))


@program(device([1, 0], "int64"), WHERE, "mixing", "indexing", numpy=True)
def numpy_where_of_device_arrays(cp):
    return np.where(cp.array([True, False]), cp.array([1, 2]), 0)


@program(device([0, 1], "int64"), WHERE, "mixing", "indexing", numpy=True)
def where_with_a_numpy_bool(cp):
    return cp.where(np.bool_(True), cp.arange(2), 7)


@program(
    Raises("ValueError", "operands could not be broadcast together with shapes (2,) (3,) ()"),
    WHERE,
    "indexing",
)
def where_of_shapes_that_do_not_fit(cp):
    return cp.where(cp.array([True, False]), cp.arange(3), 0)


@program(
    Raises("TypeError", "'a' must be a cupy.ndarray object, not <class 'numpy.ndarray'>."),
    source("cupy/_sorting/search.py", "nonzero"),
    "mixing",
    "indexing",
)
def where_of_a_host_array_alone(cp):
    return cp.where(np.array([True, False]))


@program(
    Raises("TypeError", matching="incorrect type .*numpy.ndarray"),
    source("cupy/linalg/_product.py", "dot"),
    "mixing",
    "linalg",
)
def the_dot_product_with_a_host_array(cp):
    return cp.dot(cp.ones(3), np.ones(3))


@program((device([0, 2, 4], "int64"), host([0, 2, 4], "int64")), AGNOSTIC, "mixing")
def get_array_module_writes_code_for_both(cp):
    def double(x):
        return cp.get_array_module(x).add(x, x)

    return double(cp.arange(3)), double(np.arange(3))


@program((True, True, True), source("cupy/__init__.py", "get_array_module"), "mixing")
def get_array_module_gives_modules(cp):
    both = cp.get_array_module(np.zeros(1), cp.zeros(1))
    return cp.get_array_module(np.zeros(1)) is np, both is cp, cp.get_array_module(1.0) is np


@program(
    Raises("TypeError", matching="Accessing a CuPy ndarry on CPU is not allowed"),
    source(CORE, "_ndarray_base.__getbuffer__"),
    "mixing",
)
def a_device_array_has_no_buffer(cp):
    return memoryview(cp.arange(3))


@program(
    (3, "<f4", (4,), None, False),
    source(CORE, "_ndarray_base.__cuda_array_interface__"),
    "interoperability",
)
def the_cuda_array_interface(cp):
    interface = cp.zeros(4, dtype=cp.float32).__cuda_array_interface__
    return (
        interface["version"],
        interface["typestr"],
        interface["shape"],
        interface["strides"],
        interface["data"][1],
    )


@program(((8,), 8), source(CORE, "_ndarray_base.__cuda_array_interface__"), "interoperability")
def the_cuda_array_interface_of_a_view(cp):
    x = cp.zeros(8, dtype=cp.float32)
    view = x[2::2].__cuda_array_interface__
    return view["strides"], view["data"][0] - x.__cuda_array_interface__["data"][0]


@program((0, False), source(CORE, "_ndarray_base.__cuda_array_interface__"), "interoperability")
def the_cuda_array_interface_of_nothing(cp):
    return cp.zeros(0).__cuda_array_interface__["data"]


@program(
    device([7, 1, 2], "int64"),
    documentation("user_guide/interoperability", "Numba"),
    "interoperability",
)
def asarray_shares_memory_through_the_interface(cp):
    x = cp.arange(3)

    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__

    shared = cp.asarray(Foreign())
    shared[0] = 7
    return x


@program((2, 0), source(CORE, "_ndarray_base.__dlpack_device__"), "interoperability")
def the_dlpack_device_is_cuda(cp):
    with cp.cuda.Device(0):
        return tuple(int(number) for number in cp.zeros(3).__dlpack_device__())


@program(
    device([7, 1, 2], "int64"),
    documentation("user_guide/interoperability", "DLPack data exchange protocol"),
    "interoperability",
)
def dlpack_shares_memory(cp):
    x = cp.arange(3)
    cp.from_dlpack(x)[0] = 7
    return x


@program(
    Raises(
        "TypeError",
        "CPU arrays cannot be directly imported to CuPy. Use `cupy.array(numpy.from_dlpack(input))` instead.",
    ),
    source("cupy/_core/dlpack.pyx", "from_dlpack"),
    "interoperability",
)
def dlpack_takes_no_host_array(cp):
    return cp.from_dlpack(np.zeros(3))
