"""Linear algebra, random numbers and Fourier transforms."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, program, source

CORE_LINALG = "cupy/_core/_routines_linalg.pyx"
UTIL = "cupy/linalg/_util.py"
GENERATOR = "cupy/random/_generator.py"
SAMPLE = "cupy/random/_sample.py"
FFT = "cupy/fft/_fft.py"
CLOSE = 1e-12
SINGLE = 1e-5


@program(
    device([[5.0, 14.0], [14.0, 50.0]], "float64", rtol=CLOSE),
    source(CORE_LINALG, "matmul"),
    "linalg",
    numpy=True,
)
def a_matrix_product(cp):
    x = cp.arange(6.0).reshape(2, 3)
    return x @ x.T


@program(device(14.0, "float32", rtol=SINGLE), source(CORE_LINALG, "dot"), "linalg", "0-d", numpy=True)
def the_dot_product_of_vectors_stays_on_the_device(cp):
    x = cp.array([1, 2, 3], dtype=cp.float32)
    return x.dot(x)


@program(Raises("ValueError", "Axis dimension mismatch"), source(CORE_LINALG, "dot"), "linalg")
def a_dot_product_of_shapes_that_do_not_fit(cp):
    return cp.dot(cp.zeros((2, 3)), cp.zeros((2, 3)))


@program(
    device([[-2.0, 1.0], [1.5, -0.5]], "float64", rtol=CLOSE),
    source("cupy/linalg/_solve.py", "inv"),
    "linalg",
    numpy=True,
)
def the_inverse_of_a_matrix(cp):
    return cp.linalg.inv(cp.array([[1.0, 2.0], [3.0, 4.0]]))


@program(
    device([2.0, 3.0], "float32", rtol=SINGLE), source("cupy/linalg/_solve.py", "solve"), "linalg", numpy=True
)
def the_solution_of_a_system(cp):
    a = cp.array([[3, 1], [1, 2]], dtype=cp.float32)
    return cp.linalg.solve(a, cp.array([9, 8], dtype=cp.float32))


@program(
    device(5.0, "float64", rtol=CLOSE),
    documentation("user_guide/basic", "Basics of cupy.ndarray"),
    "linalg",
    numpy=True,
)
def the_norm_stays_on_the_device(cp):
    return cp.linalg.norm(cp.array([3, 4]))


@program(
    Raises("LinAlgError", "Last 2 dimensions of the array must be square"),
    source(UTIL, "_assert_stacked_square"),
    "linalg",
)
def the_inverse_of_an_oblong_matrix(cp):
    return cp.linalg.inv(cp.zeros((2, 3)))


@program(
    Raises("LinAlgError", "1-dimensional array given. Array must be at least two-dimensional"),
    source(UTIL, "_assert_stacked_2d"),
    "linalg",
)
def the_cholesky_factor_of_a_vector(cp):
    return cp.linalg.cholesky(cp.ones(3))


@program(
    Raises("LinAlgError", "cupy.linalg only supports cupy.ndarray"),
    source(UTIL, "_assert_cupy_array"),
    "linalg",
)
def the_inverse_of_a_host_array(cp):
    return cp.linalg.inv(np.eye(2))


@program(
    Raises("TypeError", "float16 is unsupported in linalg"), source(UTIL, "linalg_common_type"), "linalg"
)
def the_inverse_in_half_precision(cp):
    return cp.linalg.inv(cp.eye(2, dtype=cp.float16))


@program(
    Raises("LinAlgError", matching="Error reported by .*potrf in cuSOLVER"),
    source(UTIL, "_check_cusolver_dev_info_if_synchronization_allowed"),
    "linalg",
)
def a_matrix_without_a_cholesky_factor_where_errors_are_raised(cp):
    import cupyx

    with cupyx.errstate(linalg="raise"):
        return cp.linalg.cholesky(cp.array([[1.0, 2.0], [2.0, 1.0]]))


@program(
    Raises("ValueError", "a must have (..., M, M) shape and b must have (M,) for one-dimensional b"),
    source("cupy/linalg/_solve.py", "solve"),
    "linalg",
)
def a_system_with_too_long_a_right_hand_side(cp):
    return cp.linalg.solve(cp.eye(2), cp.ones(3))


@program(
    Raises("ValueError", "Invalid norm order for matrices."),
    source("cupy/linalg/_norms.py", "norm"),
    "linalg",
)
def a_norm_of_a_matrix_that_is_not_there(cp):
    return cp.linalg.norm(cp.zeros((2, 3)), ord=7)


@program(
    device([0.0, 17.0], "float64", rtol=CLOSE),
    source("cupy/linalg/_einsum.py", "einsum"),
    "linalg",
    numpy=True,
)
def an_einsum(cp):
    return cp.einsum("ij,j->i", cp.array([[0.0, 0.0], [3.0, 7.0]]), cp.array([1.0, 2.0]))


@program(
    (device([3.0, 1.0], "float64", rtol=CLOSE), device(True, "bool")),
    source("cupy/linalg/_decomposition.py", "svd"),
    "linalg",
)
def a_singular_value_decomposition(cp):
    a = cp.array([[0.0, 1.0], [3.0, 0.0]])
    u, s, vt = cp.linalg.svd(a)
    return s, cp.allclose(u * s @ vt, a)


@program((True, "float64", (2, 3)), source(SAMPLE, "rand"), "random")
def rand_gives_numbers_from_0_to_1(cp):
    x = cp.random.rand(2, 3)
    return bool((x >= 0).all() and (x < 1).all() and isinstance(x, cp.ndarray)), str(x.dtype), x.shape


@program("float32", documentation("user_guide/difference", "Random methods support dtype argument"), "random")
def random_numbers_have_a_dtype_argument(cp):
    return str(cp.random.randn(2, dtype=np.float32).dtype)


@program(
    Raises("TypeError", "cupy.random only supports float32 and float64"),
    source(GENERATOR, "_check_and_get_dtype"),
    "random",
)
def random_numbers_are_no_integers(cp):
    return cp.random.rand(3, dtype=cp.int32)


@program(True, source(GENERATOR, "seed"), "random")
def a_seed_repeats_the_numbers(cp):
    cp.random.seed(7)
    first = cp.random.rand(5)
    cp.random.seed(7)
    return bool((first == cp.random.rand(5)).all())


@program(Raises("TypeError", "Seed must be an integer."), source(GENERATOR, "RandomState.seed"), "random")
def a_seed_that_is_no_integer(cp):
    cp.random.seed("seven")


@program((True, "int64", ()), source(GENERATOR, "RandomState.randint"), "random", "0-d")
def one_random_integer_stays_on_the_device(cp):
    x = cp.random.randint(5)
    return isinstance(x, cp.ndarray) and 0 <= int(x) < 5, str(x.dtype), x.shape


@program(Raises("ValueError", "low >= high"), source(GENERATOR, "RandomState.randint"), "random")
def random_integers_from_an_empty_range(cp):
    return cp.random.randint(5, 2)


@program(
    device([0, 1, 2, 3], "int64"), source("cupy/random/_permutations.py", "permutation"), "random", numpy=True
)
def a_permutation_holds_every_number_once(cp):
    return cp.sort(cp.random.permutation(4))


@program(
    Raises("TypeError", "The array must be cupy.ndarray"), source(GENERATOR, "RandomState.shuffle"), "random"
)
def a_host_array_is_not_shuffled(cp):
    cp.random.shuffle(np.arange(4))


@program((True, "float64"), source("cupy/random/_generator_api.pyx", "Generator.random"), "random")
def a_generator_repeats_its_numbers(cp):
    one, two = cp.random.default_rng(3).random(5), cp.random.default_rng(3).random(5)
    return bool((one == two).all()), str(one.dtype)


@program(
    Raises("ValueError", "probabilities do not sum to 1"), source(GENERATOR, "RandomState.choice"), "random"
)
def a_choice_with_wrong_probabilities(cp):
    return cp.random.choice(2, 3, p=cp.array([0.5, 0.2]))


@program(device([4, 0, 0, 0], "complex128", rtol=CLOSE), source(FFT, "fft"), "fft", numpy=True)
def the_transform_of_ones(cp):
    return cp.fft.fft(cp.ones(4))


@program("complex64", source(FFT, "_output_dtype"), "fft")
def the_transform_of_float32_is_complex64(cp):
    return str(cp.fft.fft(cp.ones(4, dtype=cp.float32)).dtype)


@program(device([6, -2 + 2j, -2], "complex128", rtol=CLOSE), source(FFT, "rfft"), "fft", numpy=True)
def the_transform_of_real_numbers(cp):
    return cp.fft.rfft(cp.arange(4.0))


@program(device([0, 1, 2, 3], "float64", rtol=CLOSE), source(FFT, "irfft"), "fft", numpy=True)
def a_transform_and_back(cp):
    return cp.fft.irfft(cp.fft.rfft(cp.arange(4.0)))


@program(
    (device([0.0, 0.25, -0.5, -0.25], "float64"), device([2, 3, 0, 1], "int64")),
    source(FFT, "fftfreq"),
    "fft",
    numpy=True,
)
def frequencies_and_their_shift(cp):
    return cp.fft.fftfreq(4), cp.fft.fftshift(cp.arange(4))


@program(
    Raises("ValueError", "Invalid number of FFT data points (0) specified."), source(FFT, "_exec_fft"), "fft"
)
def a_transform_of_no_points(cp):
    return cp.fft.fft(cp.ones(4), n=0)
