"""A plugin of pytest that is read before all others (`-p tests.quick_start`, in the Makefile): the tests start sooner.

nbval imports nbformat, and this jsonschema, which at its import compiles a grammar for addresses in other alphabets. That
takes 1.4 s in each process of the tests, and no schema here asks for such addresses. jsonschema goes on without it.

Python's garbage collector walks over all objects again and again while pytest makes tens of thousands of tests, which all
stay. It rests until they are there, and does not look at them afterwards.
"""

import gc
import sys

sys.modules.setdefault("rfc3987_syntax", None)  # its import raises ImportError, as where it is not installed
gc.disable()


def pytest_collection_finish() -> None:
    """Let the garbage collector see what comes from here on."""
    gc.freeze()
    gc.enable()
