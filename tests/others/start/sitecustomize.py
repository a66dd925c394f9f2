"""Python imports this module first of all: in processes that a test starts, the stand-in answers for the library, too."""

import importlib
import os
from pathlib import Path

if os.environ.get("OTHERS_NESTED"):
    importlib.import_module(os.environ["OTHERS_NAMES"]).put_in_place(Path(os.environ["OTHERS_FOLDER"]))
