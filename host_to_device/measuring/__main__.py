"""`python -m host_to_device.measuring`, which `make measure` calls."""

import sys

from host_to_device.measuring.notebook_runs import main

sys.exit(main())
