"""Every case of the corpus."""

from tests.corpora.kernels import (
    atomics,
    compaction,
    devicefunctions,
    elementwise,
    histograms,
    indexing,
    learning,
    matmul,
    memory,
    physics,
    reductions,
    scans,
    sorting,
    stencils,
    transpose,
    types,
    warps,
)

TOPICS = [
    elementwise,
    indexing,
    matmul,
    transpose,
    reductions,
    scans,
    histograms,
    stencils,
    sorting,
    compaction,
    physics,
    learning,
    warps,
    memory,
    devicefunctions,
    atomics,
    types,
]
ALL = [case for topic in TOPICS for case in topic.CASES]
