"""Every case of the corpus."""

from tests.kernels import elementwise, indexing, matmul, transpose

ALL = [
    case
    for topic in (elementwise, indexing, matmul, transpose)
    for case in topic.CASES
]
