"""Every case of these features."""

from tests.corpora.kernels.features import arguments, functions, grids, numpy_functions

TOPICS = [numpy_functions, arguments, functions, grids]
ALL = [case for topic in TOPICS for case in topic.CASES]
