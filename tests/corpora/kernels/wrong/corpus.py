"""Every wrong case of the corpus."""

from tests.corpora.kernels.wrong import (
    barriers,
    bounds,
    limits,
    order,
    progress,
    races_global,
    races_shared,
    uninitialised,
    unwritten,
    warps,
)

TOPICS = [
    bounds,
    races_shared,
    races_global,
    uninitialised,
    unwritten,
    barriers,
    limits,
    order,
    warps,
    progress,
]
ALL = [case for topic in TOPICS for case in topic.CASES]
