"""The table of GPUs and their architectures: each figure with its source.

The chapters, `h2d.occupancy` and `h2d.show` share this table. An `Architecture` has what all GPUs of one compute
capability (or of one AMD target) have in common; a `GPU` has the figures of one card. `source` names the entry of
`references.bib` that a figure is from. A figure that no source states is None, never a guess. Rates are peaks for dense
operands: where a data sheet counts sparse operands, the table has half of its figure.

>>> find("H100").architecture.shared_per_multiprocessor
233472
>>> find("H100").source("memory_bandwidth")
'nvidia-hopper'
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Mapping
from typing import Any

from host_to_device.hardware.launch_limits import MAX_SHARED, MAX_SHARED_OPT_IN, MAX_THREADS

KIB, MIB = 2**10, 2**20
AS_OF = "2026-11"  # when the table was last compared with its sources


@dataclasses.dataclass(frozen=True)
class Architecture:
    """The limits of a multiprocessor, by compute capability or AMD target; sizes in bytes, registers of 32 bits.

    A multiprocessor is NVIDIA's SM. For AMD it is the unit that a work-group runs on: a compute unit (CU) of CDNA, a
    work-group processor (WGP, two CUs) of RDNA in its default mode.
    """

    target: str  # the compiler's name: "sm_90", "gfx942"
    vendor: str  # "NVIDIA" or "AMD"
    family: str  # "Hopper", "CDNA 3"
    warp_size: int
    threads_per_block: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    warps_per_multiprocessor: int
    parts: int  # parts of a multiprocessor that have their own registers: sub-partitions, SIMDs
    registers_per_multiprocessor: int  # of all parts; for AMD vector registers times the lanes of a wavefront
    registers_per_thread: int
    register_unit: int  # a warp's registers are allocated in multiples of this
    shared_per_multiprocessor: int
    shared_per_block: int  # the most that a kernel can opt in to
    shared_per_block_default: int  # the most without opting in
    shared_reserved: int  # bytes of each block that the system takes
    shared_unit: int  # a block's shared memory is allocated in multiples of this
    l1: int | None = None  # first-level cache; includes the shared memory where both share one memory
    fp32_per_clock: int | None = None  # multiply-adds that a multiprocessor completes in a clock cycle
    fp64_per_clock: int | None = None
    scalar_registers: int | None = None  # AMD's, of a SIMD; None where they are no limit
    scalar_register_unit: int | None = None
    sources: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def source(self, name: str) -> str | None:
        """Return the `references.bib` key of the source of a field; None for a field that is None."""
        return _source(self, name)


@dataclasses.dataclass(frozen=True)
class GPU:
    """A GPU: rates in operations or bytes per second, caches in bytes, memory in the GB that the maker states.

    `fp16_matrix` and the like are the peaks of NVIDIA's Tensor Cores and AMD's Matrix Cores, for dense operands and sums
    in float32.
    """

    name: str
    architecture: Architecture
    released: str  # the day of its presentation, or of its first sale where the source gives that
    multiprocessors: int | None = None  # SMs of NVIDIA, CUs of AMD
    boost_clock: float | None = None  # Hz
    memory_gb: float | None = None
    memory_kind: str | None = None
    memory_bandwidth: float | None = None
    l2: int | None = None
    l3: int | None = None  # AMD's Infinity Cache
    fp64: float | None = None
    fp64_matrix: float | None = None
    fp32: float | None = None
    tf32_matrix: float | None = None
    fp16_matrix: float | None = None
    power: float | None = None  # W, the limit of the card or module
    aliases: tuple[str, ...] = ()
    sources: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def vendor(self) -> str:
        """Return the maker: "NVIDIA" or "AMD"."""
        return self.architecture.vendor

    def source(self, name: str) -> str | None:
        """Return the `references.bib` key of the source of a field; None for a field that is None."""
        return _source(self, name)


def _source(row: Architecture | GPU, name: str) -> str | None:
    if name not in {field.name for field in dataclasses.fields(row)} - {"sources", "aliases"}:
        raise AttributeError(f"a {type(row).__name__} has no field {name!r}")
    return row.sources.get(name)


def find(name: str) -> GPU:
    """Return a GPU by its name. Case, spaces, hyphens and the maker's name do not matter.

    Raises
    ------
    ValueError
        The table has no GPU of this name; the message names the nearest ones.
    """
    wanted = _plain(name)
    known = _by_name()
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    listed = list(dict.fromkeys(known[each].name for each in near)) or [gpu.name for gpu in GPUS]
    raise ValueError(f"no GPU {name!r} in the table; there is {', '.join(listed)}")


def find_architecture(target: str) -> Architecture | None:
    """Return the architecture of a compile target such as "sm_90" or "gfx942"; None if the table does not have it.

    A letter after the number ("sm_90a") changes the instructions that code may use, not the limits.
    """
    by_target = {each.target: each for each in ARCHITECTURES}
    return by_target.get(target) or by_target.get(target.rstrip("af"))


def typical(architecture: Architecture) -> GPU:
    """Return the GPU of the table that had this architecture first."""
    return next(gpu for gpu in GPUS if gpu.architecture is architecture)


def _plain(name: str) -> str:
    words = name.lower().replace("-", " ").replace("_", " ").split()
    return "".join(word for word in words if word not in MAKERS)


MAKERS = {"nvidia", "amd", "geforce", "tesla", "radeon", "instinct", "gpu", "rtx", "rx"}


@functools.cache
def _by_name() -> dict[str, GPU]:
    return {_plain(name): gpu for gpu in GPUS for name in (gpu.name, *gpu.aliases)}


# --- Architectures --------------------------------------------------------------------------------------------------
# NVIDIA's limits are from the programming guide's table of compute capabilities, the units of allocation from the header
# that NVIDIA's occupancy calculator uses. AMD's are from the tables of ROCm and from LLVM.


def _cited(row: type, common: dict[str, Any], cells: dict[str, dict[str, Any]]) -> Any:
    """Return a row of the table. `cells` are grouped by their source; names need none and are in `common`."""
    values = {name: value for group in cells.values() for name, value in group.items()}
    if len(values) != sum(map(len, cells.values())):
        raise ValueError(f"two sources for one cell of {common}")
    sources = {name: source for source, group in cells.items() for name in group}
    return row(**common, **values, sources=sources)


def _nvidia(target: str, family: str, threads: int, blocks: int, **more: Any) -> Architecture:
    major, minor = int(target[3:-1]), target[-1]
    shared, reserved = MAX_SHARED_OPT_IN[f"{major}.{minor}"], KIB if major >= 8 else 0
    return _cited(
        Architecture,
        {"target": target, "vendor": "NVIDIA", "family": family},
        {
            "cuda-compute-capabilities": {
                "warp_size": 32,
                "threads_per_block": MAX_THREADS,
                "threads_per_multiprocessor": threads,
                "warps_per_multiprocessor": threads // 32,
                "blocks_per_multiprocessor": blocks,
                "registers_per_multiprocessor": 64 * KIB,
                "registers_per_thread": 255,
                "shared_per_multiprocessor": shared + reserved,
                "shared_per_block": shared,
                "shared_per_block_default": MAX_SHARED,
                "shared_reserved": reserved,
                "l1": more["l1"] * KIB,
            },
            "cuda-occupancy-header": {
                "parts": 4,
                "register_unit": 256,
                "shared_unit": 256 if major == 7 else 128,
            },
            "cuda-arithmetic-throughput": {"fp32_per_clock": more["fp32"], "fp64_per_clock": more["fp64"]},
        },
    )


def _amd(target: str, family: str, cells: dict[str, dict[str, Any]]) -> Architecture:
    return _cited(Architecture, {"target": target, "vendor": "AMD", "family": family}, cells)


def _cdna(target: str, family: str, l1: int) -> Architecture:
    return _amd(
        target,
        family,
        {
            "rocm-gpu-specifications": {
                "warp_size": 64,
                "registers_per_multiprocessor": 512 * KIB // 4,
                "shared_per_multiprocessor": 64 * KIB,
                "l1": l1 * KIB,
            },
            "llvm-amdgpu-limits": {
                "threads_per_block": 1024,
                "threads_per_multiprocessor": 4 * 8 * 64,
                "warps_per_multiprocessor": 4 * 8,  # 8 on each of 4 SIMDs
                "blocks_per_multiprocessor": 16,  # for work-groups of more than one wavefront
                "parts": 4,
                "registers_per_thread": 512,
                "register_unit": 8 * 64,
                "shared_per_block": 64 * KIB,
                "shared_per_block_default": 64 * KIB,
                "shared_reserved": 0,
                "shared_unit": 512,
                "scalar_registers": 800,
                "scalar_register_unit": 16,
            },
        },
    )


ARCHITECTURES = (
    _nvidia("sm_70", "Volta", 2048, 32, l1=128, fp32=64, fp64=32),
    _nvidia("sm_75", "Turing", 1024, 16, l1=96, fp32=64, fp64=2),
    _nvidia("sm_80", "Ampere", 2048, 32, l1=192, fp32=64, fp64=32),
    _nvidia("sm_86", "Ampere", 1536, 16, l1=128, fp32=128, fp64=2),
    _nvidia("sm_89", "Ada Lovelace", 1536, 24, l1=128, fp32=128, fp64=2),
    _nvidia("sm_90", "Hopper", 2048, 32, l1=256, fp32=128, fp64=64),
    _nvidia("sm_100", "Blackwell", 2048, 32, l1=256, fp32=128, fp64=64),
    _nvidia("sm_120", "Blackwell", 1536, 24, l1=128, fp32=128, fp64=2),
    _cdna("gfx90a", "CDNA 2", 16),
    _cdna("gfx942", "CDNA 3", 32),
    _amd(
        "gfx1100",
        "RDNA 3",
        {
            "rocm-gpu-specifications": {
                "registers_per_multiprocessor": 768 * KIB // 4,
                "shared_per_multiprocessor": 128 * KIB,
                "l1": 32 * KIB,
            },
            "llvm-amdgpu-limits": {
                "warp_size": 32,  # the compiler's choice for compute kernels; the hardware can also run 64
                "threads_per_block": 1024,
                "threads_per_multiprocessor": 4 * 16 * 32,
                "warps_per_multiprocessor": 4 * 16,
                "blocks_per_multiprocessor": 32,
                "parts": 4,
                "registers_per_thread": 256,
                "register_unit": 24 * 32,
                "shared_per_block": 64 * KIB,
                "shared_per_block_default": 64 * KIB,
                "shared_reserved": 0,
                "shared_unit": 512,
            },
        },
    ),
)


# --- GPUs -----------------------------------------------------------------------------------------------------------
# In the order of their presentation. Where a source gives cores and not SMs, the number of SMs is computed from the
# cores of one SM. Where a source gives a system of eight GPUs, the table has an eighth of it. An MI250X has two dies; a
# program sees each as a GPU of its own with half of everything.


def _gpu(name: str, target: str, released: str, *aliases: str, **cells: dict[str, Any]) -> GPU:
    """Return a GPU; each keyword is a source, with underscores for hyphens."""
    architecture = find_architecture(target)
    by_source = {source.replace("_", "-"): group for source, group in cells.items()}
    return _cited(
        GPU, {"name": name, "architecture": architecture, "released": released, "aliases": aliases}, by_source
    )


GPUS = (
    _gpu(
        "V100 SXM2",
        "sm_70",
        "2017-05-10",
        "V100",
        nvidia_volta={
            "multiprocessors": 80,
            "boost_clock": 1530e6,
            "memory_gb": 16,
            "memory_kind": "HBM2",
            "memory_bandwidth": 900e9,
            "l2": 6 * MIB,
            "fp64": 7.8e12,
            "fp32": 15.7e12,
            "fp16_matrix": 125e12,
            "power": 300,
        },
    ),
    _gpu(
        "T4",
        "sm_75",
        "2018-09-12",
        nvidia_turing={
            "multiprocessors": 40,
            "boost_clock": 1590e6,
            "memory_gb": 16,
            "memory_kind": "GDDR6",
            "memory_bandwidth": 320e9,
            "l2": 4 * MIB,
            "fp32": 8.1e12,
            "fp16_matrix": 65e12,
            "power": 70,
        },
    ),
    _gpu(
        "A100 40 GB",
        "sm_80",
        "2020-05-14",
        "A100",
        "A100 SXM4 40GB",
        nvidia_ampere={
            "multiprocessors": 108,
            "boost_clock": 1410e6,
            "memory_gb": 40,
            "memory_kind": "HBM2",
            "memory_bandwidth": 1555e9,
            "l2": 40 * MIB,
            "fp64": 9.7e12,
            "fp64_matrix": 19.5e12,
            "fp32": 19.5e12,
            "tf32_matrix": 156e12,
            "fp16_matrix": 312e12,
            "power": 400,
        },
    ),
    _gpu(
        "A100 80 GB",
        "sm_80",
        "2020-11-16",
        "A100 SXM4 80GB",
        nvidia_a100={
            "memory_gb": 80,
            "memory_kind": "HBM2e",
            "memory_bandwidth": 2039e9,
            "fp64": 9.7e12,
            "fp64_matrix": 19.5e12,
            "fp32": 19.5e12,
            "tf32_matrix": 156e12,
            "fp16_matrix": 312e12,
            "power": 400,
        },
        nvidia_ampere={"multiprocessors": 108, "boost_clock": 1410e6, "l2": 40 * MIB},
    ),
    _gpu(
        "RTX 3060 Ti",
        "sm_86",
        "2020-12-02",
        nvidia_rtx_3060_ti={
            "multiprocessors": 38,
            "boost_clock": 1665e6,
            "memory_gb": 8,
            "memory_kind": "GDDR6",
            "memory_bandwidth": 448e9,
            "power": 200,
        },
        cuda_device_query={"l2": 3 * MIB},
    ),
    _gpu(
        "A10",
        "sm_86",
        "2021-04-12",
        nvidia_a10={
            "memory_gb": 24,
            "memory_kind": "GDDR6",
            "memory_bandwidth": 600e9,
            "fp32": 31.2e12,
            "tf32_matrix": 62.5e12,
            "fp16_matrix": 125e12,
            "power": 150,
        },
        cuda_device_query={"multiprocessors": 72, "boost_clock": 1695e6, "l2": 6 * MIB},
    ),
    _gpu(
        "MI250X",
        "gfx90a",
        "2021-11-08",
        amd_mi250x={
            "boost_clock": 1700e6,
            "memory_kind": "HBM2e",
            "memory_bandwidth": 3.2768e12,
            "fp64": 47.9e12,
            "fp64_matrix": 95.7e12,
            "fp32": 47.9e12,
            "fp16_matrix": 383e12,
            "power": 560,
        },
        rocm_gpu_specifications={"multiprocessors": 220, "memory_gb": 128, "l2": 16 * MIB},
    ),
    _gpu(
        "H100 SXM",
        "sm_90",
        "2022-03-22",
        "H100",
        "H100 SXM5",
        "H100 80GB HBM3",
        nvidia_hopper={
            "multiprocessors": 132,
            "boost_clock": 1980e6,
            "memory_gb": 80,
            "memory_kind": "HBM3",
            "memory_bandwidth": 3352e9,
            "l2": 50 * MIB,
            "fp64": 33.5e12,
            "fp64_matrix": 66.9e12,
            "fp32": 66.9e12,
            "tf32_matrix": 494.7e12,
            "fp16_matrix": 989.4e12,
            "power": 700,
        },
    ),
    _gpu(
        "RTX 4090",
        "sm_89",
        "2022-10-12",
        nvidia_ada={
            "multiprocessors": 128,
            "boost_clock": 2520e6,
            "memory_gb": 24,
            "memory_kind": "GDDR6X",
            "memory_bandwidth": 1008e9,
            "l2": 72 * MIB,
            "fp32": 82.6e12,
            "tf32_matrix": 82.6e12,
            "fp16_matrix": 165.2e12,
            "power": 450,
        },
    ),
    _gpu(
        "RX 7900 XTX",
        "gfx1100",
        "2022-12-13",
        amd_rx_7900_xtx={
            "boost_clock": 2500e6,
            "memory_kind": "GDDR6",
            "memory_bandwidth": 960e9,
            "fp32": 61.4e12,
            "power": 355,
        },
        rocm_gpu_specifications={"multiprocessors": 96, "memory_gb": 24, "l2": 6 * MIB, "l3": 96 * MIB},
    ),
    _gpu(
        "L4",
        "sm_89",
        "2023-03-21",
        nvidia_l4={
            "memory_gb": 24,
            "memory_kind": "GDDR6",
            "memory_bandwidth": 300e9,
            "fp32": 30.3e12,
            "tf32_matrix": 60e12,
            "fp16_matrix": 121e12,
            "power": 72,
        },
        cuda_device_query={"multiprocessors": 58, "boost_clock": 2040e6},
    ),
    _gpu(
        "H200 SXM",
        "sm_90",
        "2023-11-13",
        "H200",
        nvidia_h200={
            "memory_gb": 141,
            "memory_kind": "HBM3e",
            "memory_bandwidth": 4.8e12,
            "fp64": 34e12,
            "fp64_matrix": 67e12,
            "fp32": 67e12,
            "tf32_matrix": 494.5e12,
            "fp16_matrix": 989.5e12,
            "power": 700,
        },
        austin2025scaling={"multiprocessors": 132, "l2": 50 * MIB},
    ),
    _gpu(
        "MI300X",
        "gfx942",
        "2023-12-06",
        rocm_mi300={
            "memory_kind": "HBM3",
            "memory_bandwidth": 5.3e12,
            "fp64": 81.7e12,
            "fp64_matrix": 163.4e12,
            "fp32": 163.4e12,
            "tf32_matrix": 653.7e12,
            "fp16_matrix": 1307.4e12,
        },
        rocm_gpu_specifications={"multiprocessors": 304, "memory_gb": 192, "l2": 32 * MIB, "l3": 256 * MIB},
        amd_mi300x={"boost_clock": 2100e6, "power": 750},
    ),
    _gpu(
        "B200",
        "sm_100",
        "2024-03-18",
        nvidia_dgx_b200={"memory_gb": 180, "memory_kind": "HBM3e", "memory_bandwidth": 8e12},
        nvidia_hgx={
            "fp64": 37e12,
            "fp32": 75e12,
            "tf32_matrix": 1.125e15,
            "fp16_matrix": 2.25e15,
        },
        nvidia_blackwell={"power": 1000},
        austin2025scaling={"multiprocessors": 148, "l2": 126 * MIB},
    ),
    _gpu(
        "RTX PRO 6000 Blackwell",
        "sm_120",
        "2025-03-18",
        "RTX PRO 6000",
        "RTX PRO 6000 Blackwell Workstation Edition",
        nvidia_rtx_pro_6000={
            "multiprocessors": 188,
            "memory_gb": 96,
            "memory_kind": "GDDR7",
            "memory_bandwidth": 1792e9,
            "fp32": 125e12,
            "power": 600,
        },
        dewing_latency={"l2": 128 * MIB},
    ),
)
