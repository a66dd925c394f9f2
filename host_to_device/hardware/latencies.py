"""The table of load latencies: published measurements by pointer chasing, each with its source.

Pointer chasing is a chain of loads in which each load returns the address of the next one, so that no load can start
before the one before it has returned. Makers do not publish these numbers. Two authors' results can differ by a fifth or
more, with the clock, with address translation, and with the distance to the slice of the cache: for the H100 the source
of the MI300X has 38, 219 and 834. A GPU without a row has no measurement that was found. `source` is a key of
`references.bib`.

>>> find("H100").l2
291
"""

from __future__ import annotations

from dataclasses import dataclass

from host_to_device.hardware import gpus

AS_OF = "2026-11"  # when the table was last compared with its sources


@dataclass(frozen=True)
class Latency:
    """The latency of a load, in cycles of the multiprocessor's clock, by the memory that holds its data.

    Attributes
    ----------
    gpu
        The name, as `gpus` has it.
    l1, l2, memory
        Cycles from the first-level cache, from the second-level cache, from device memory.
    source
        The `references.bib` key of the measurement.
    """

    gpu: str
    l1: int
    l2: int
    memory: int
    source: str


LATENCIES = (
    Latency("A100 80 GB", 39, 210, 550, "dewing-latency"),
    Latency("RTX 4090", 40, 296, 636, "dewing-latency"),
    Latency("H100 SXM", 40, 291, 700, "dewing-latency"),
    Latency("RTX PRO 6000 Blackwell", 44, 352, 864, "dewing-latency"),
    Latency("B200", 40, 295, 860, "dewing-latency"),
    Latency("MI300X", 116, 288, 900, "mt4g"),
)


def find(name: str) -> Latency | None:
    """Return the latencies of a GPU by any name that `gpus.find` takes; None if the table has none.

    Raises
    ------
    ValueError
        The table of GPUs has no GPU of this name.
    """
    wanted = gpus.find(name).name
    return next((each for each in LATENCIES if each.gpu == wanted), None)
