"""A plugin of pytest that is read before all others (`-p tests.quick_start`, in the Makefile): imports take less time.

nbval imports nbformat, and this jsonschema, which at its import compiles a grammar for addresses in other alphabets. That
takes 1.4 s in each process of the tests, and no schema here asks for such addresses. jsonschema goes on without it.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # its import raises ImportError, as where it is not installed
