"""The stored outcomes of `tests/corpora/real_results` are still those of the real numba-cuda."""

import pytest

from tests.commands.kernels import real_results
from tests.corpora.real_results import stored


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_real_compiler_gives_what_is_stored(rehearsal_environment):
    found, _ = real_results.on_rehearsal(rehearsal_environment)
    wrong = real_results.differences(found, stored())
    assert set(found) == set(stored()) and not wrong, "\n".join(wrong)
