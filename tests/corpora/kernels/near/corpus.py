"""Every near miss of the corpus."""

from tests.corpora.kernels.near import atomics, memory, negatives, waiting

TOPICS = [memory, negatives, waiting, atomics]
ALL = [case for topic in TOPICS for case in topic.CASES]
