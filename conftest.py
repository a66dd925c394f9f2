"""Tests run on the stand-in unless the environment says otherwise (`H2D_MACHINE=gpu make test`)."""

import os

os.environ.setdefault("H2D_MACHINE", "stand-in")
