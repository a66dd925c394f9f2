"""What is found in a source, and the text that is compiled in its place."""

from host_to_device.standins.cuda_cpp import sources

SOURCE = r"""
// __global__ void commented(int* a) {}
/* extern "C" __global__ void this_too() {} */
extern "C" __global__ __launch_bounds__(256) void plain(const float* __restrict__ x, float4 *y, int n = 3) {
    const char* text = "__global__ void in_a_text() {}";
}
extern "C" {
__global__ void in_a_block(int (&a)[3], unsigned char b[]) { if (true) { } }
}
namespace outer { namespace inner {
__global__ void deep() {}
__constant__ float weights[3] = {1, 2, 3};
} }
template <typename T, int N = (3 > 2)> __global__ void generic(T* x) {}
__global__ void declared_only(int);
__device__ int counter = 5, spread[4][2];
__device__ __align__(16) float aligned[8];
__device__ int helper(int a) { return a; }
__device__ int helper(float);
extern "C" __constant__ double coefficients[];
struct Point { __device__ Point() {} int x; };
__device__ Point operator==(Point a, Point b) { return a; }
__constant__ int last;
"""


def found():
    return sources.declarations(SOURCE)


def test_kernels_are_found_with_their_namespaces_and_parameters():
    kernels = {kernel.name: kernel for kernel in found().kernels}
    assert list(kernels) == ["plain", "in_a_block", "outer::inner::deep", "generic"]
    assert kernels["plain"].parameters == ("x", "y", "n")
    assert kernels["in_a_block"].parameters[1] == "b"
    assert kernels["outer::inner::deep"].parameters == ()


def test_c_linkage_templates_and_lines_are_known():
    kernels = {kernel.name: kernel for kernel in found().kernels}
    assert [kernel.c_linkage for kernel in kernels.values()] == [True, True, False, False]
    assert [kernel.template for kernel in kernels.values()] == [False, False, False, True]
    assert (kernels["plain"].first, kernels["plain"].last) == (4, 6)


def test_variables_are_told_from_functions():
    assert found().variables == {
        "outer::inner::weights": True,
        "counter": False,
        "spread": False,
        "aligned": False,
        "coefficients": True,
        "last": True,
    }


def test_comments_and_texts_are_blanked_in_place():
    source = "int a; // b\n/* c\n d */ char e = 'x'; const char* f = \"g\\\"h\";\nint i = 1'000;"
    masked = sources.mask(source)
    assert len(masked) == len(source) and masked.count("\n") == source.count("\n")
    assert not set("bcdxgh") & set(masked.replace("char", "").replace("const", ""))
    assert masked.endswith("int i = 1'000;")


def test_dynamic_shared_memory_becomes_one_name():
    text = sources.as_cpp(
        "extern __shared__ __align__(8) float s[];\nstatic __shared__ int t[4];\n__shared__ int u;"
    )
    lines = text.splitlines()
    assert "__shared__" not in lines[0] and "H2D_DYNAMIC;" in lines[0]
    assert "static" not in lines[1] and "__shared__ int t[4];" in lines[1]
    assert lines[2] == "__shared__ int u;"


def test_shared_arrays_are_found_with_their_lines():
    text = "void f() {\n __shared__ float a[2][3],\n   b[4];\n __shared__ int c = 3; }"
    assert sources.shared_arrays(sources.mask(text)) == [(2, 3, ("a", "b"), False), (4, 4, ("c",), True)]


def test_host_functions_are_noticed():
    assert (
        sources.declarations("__device__ int f() { return 1; }\nint g(int x) {\n return x; }").refused[0] == 2
    )
    assert sources.declarations("constexpr int g(int x) { return x; }").refused is None
    assert sources.declarations("struct S { int f() { return 1; } };").refused is None


def test_unfinished_sources_end():
    for text in (
        "",
        "{",
        "}",
        "}}}",
        "__global__ void f(",
        "__global__ void f() {",
        "template <",
        '"C"',
        "/*",
        "__shared__",
    ):
        sources.declarations(text)
        sources.as_cpp(text)
        sources.shared_arrays(sources.mask(text))
