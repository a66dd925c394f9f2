"""How long a load takes on the GPUs of the book: what others have measured, by chasing pointers, with the source.

A chase is a chain of loads of which each gives the address of the next, so that none can begin before the one before
it is back. No maker publishes these numbers. They differ by a fifth and more from one author to another, because a clock
runs, an address is translated, a slice of the cache is nearer or farther: for the H100 the source of the MI300X has
38, 219 and 834. Where the table has no row, no measurement was found. `source` is an entry of the book's
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
    """Cycles of the multiprocessor's clock until a load is back, by what it finds its data in.

    Attributes
    ----------
    gpu
        The name, as `gpus` has it.
    l1, l2, memory
        In the first-level cache, in the second-level cache, in device memory.
    source
        The key of who measured it in `references.bib`.
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
    """Return the latencies of a GPU by its name, in any spelling that `gpus.find` takes; None where there are none.

    Raises
    ------
    ValueError
        There is no GPU of this name in the table of the book.
    """
    wanted = gpus.find(name).name
    return next((each for each in LATENCIES if each.gpu == wanted), None)
