"""Write down CuPy's public names and signatures: `python -m tests.commands.cupy.record_names`, where CuPy is installed.

It needs no GPU. The tests compare the stand-in with what it writes, `tests/corpora/cupy/names.json`.
"""

import json
import sys

from tests.corpora.cupy import names


def main() -> int:
    try:
        import cupy
    except ImportError as error:
        print(f"no CuPy here: {error}")
        return 2
    if "host_to_device" in (cupy.__file__ or "host_to_device"):
        print("this is the stand-in, not CuPy")
        return 2
    record = {
        "version": cupy.__version__,
        "places": {place: names.public(names.at(place)) for place in names.PLACES},
    }
    for place, name in names.NOT_TOLD:
        record["places"][place][name] = None
    names.RECORD.write_text(json.dumps(record, indent=1) + "\n")
    count = sum(map(len, record["places"].values()))
    print(f"CuPy {cupy.__version__}: {count} names in {names.RECORD.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
