"""Python imports this module first of all: in processes that a test starts, the stand-in answers for the library, too."""

import importlib
import linecache
import os
import sys
from pathlib import Path

if os.environ.get("OTHERS_NESTED"):
    if (
        "-c" in sys.orig_argv[:-1]
    ):  # the stand-in reads a kernel's text; Python keeps that of `-c` from 3.13 on
        text = sys.orig_argv[sys.orig_argv.index("-c") + 1]
        linecache.cache["<string>"] = len(text), None, text.splitlines(True), "<string>"
    importlib.import_module(os.environ["OTHERS_NAMES"]).put_in_place(Path(os.environ["OTHERS_FOLDER"]))
