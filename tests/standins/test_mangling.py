"""Names of compiled code lead back to the name expressions that CuPy's learners write."""

import ctypes

import pytest

from host_to_device.standins import mangling

# What NVRTC 13.0 calls these kernels.
NAMES = {
    "saxpy": "saxpy",
    "_Z5plainPf": "plain",
    "_Z5twiceIfEvPKT_PS0_i": "twice<float>",
    "_ZN2my6thriceIfLi3EEEvPT_": "my::thrice<float, 3>",
    "_Z5twiceI6__halfEvPT_": "twice<__half>",
}
BY_THE_RUNTIME = {
    "_Z6reduceI3SumIfELj256ELb1EL4Kind2EEvPKf": "reduce<Sum<float>, 256u, true, (Kind)2>",
    "_Z1kIJfdEEvv": "k<float, double>",
    "_Z1kIPFvfEEvT_": "k<void (*)(float)>",
}


def has_runtime():
    try:
        return bool(ctypes.CDLL("libstdc++.so.6"))
    except OSError:
        return False


@pytest.mark.parametrize(("name", "expression"), NAMES.items())
def test_names_lead_to_expressions(name, expression):
    assert mangling.expression(name) == expression


@pytest.mark.skipif(not has_runtime(), reason="needs libstdc++")
@pytest.mark.parametrize(("name", "expression"), BY_THE_RUNTIME.items())
def test_the_runtime_reads_what_the_library_cannot(name, expression):
    assert mangling.readable(name) == name
    assert mangling.expression(name) == expression


def test_what_cannot_be_read_stays(monkeypatch):
    assert mangling.expression("_Zno") == "_Zno"

    def missing(*_):
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    name = "_Z1kIJddEEvv"
    assert mangling.expression(name) == name


# Names of an H100's profiler: of a kernel of Numba, of CUB in CuPy, and of PyTorch; and names that are short already.
LONG = {
    "__main__::vec_add[abi:v7][abi:cw51cXTLSUwv1sDUaKthqaNgoKmjgOR3W3Cw6igA9duC0hkw_3d_3d]"
    "(Array<float, 1, C, mutable, aligned>, Array<float, 1, C, mutable, aligned>)": "vec_add",
    "_ZN8__main__7vec_addB2v7B4cw51E5ArrayIfLi1E1C7mutable7alignedE": "vec_add",
    "void cub::CUB_300102_SM_750_800_1200::detail::reduce::DeviceFixedSizeSegmentedReduceKernel<cub::CUB_300102_SM_750_"
    "800_1200::detail::policy_hub<float, int, cuda::std::__4::plus<void> >::Policy500, float*>(float*, int, "
    "cuda::std::__4::plus<void>, float)": "DeviceFixedSizeSegmentedReduceKernel",
    "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar("
    "at::TensorIteratorBase&, c10::Scalar)::{lambda()#1}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >"
    "(int, std::array<char*, 2ul>)": "vectorized_elementwise_kernel",
    "void (anonymous namespace)::softmax_warp_forward<float, 2, true>(float*, bool)": "softmax_warp_forward",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8": "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8",
    "Memset (Device)": "Memset (Device)",
    "copy to the device": "copy to the device",
    "add<float>": "add<float>",
    "_Zno": "_Zno",
}


@pytest.mark.parametrize(("name", "short"), LONG.items())
def test_a_line_has_the_kernels_name_alone(name, short):
    assert mangling.short(name) == short


@pytest.mark.parametrize(
    ("static", "external"),
    [
        ("saxpy", "saxpy"),
        ("_Z5twiceIfEvPT_", "_Z5twiceIfEvPT_"),
        ("_ZL5twiceIfEvPT_", "_Z5twiceIfEvPT_"),
        ("_ZN2myL6thriceILi3EEEvPf", "_ZN2my6thriceILi3EEEvPf"),
        ("_ZL1kIL4Kind1EEvv", "_Z1kIL4Kind1EEvv"),
    ],
)
def test_static_is_left_out_of_symbols(static, external):
    assert mangling.external(static) == external
