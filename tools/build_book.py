"""Build the site into `_build/html` and pack it for reading offline (`make book`).

Warnings are errors: a missing reference, document, term or citation stops the build.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
ARCHIVE = SITE / "host-to-device-offline.zip"


def build() -> int:
    """Run Jupyter Book; return its exit status."""
    jupyter_book = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", jupyter_book, "build", str(ROOT), "-n", "-W", "--keep-going"]
    return subprocess.call(command, cwd=ROOT)


def pack() -> None:
    """Write the zip of the site; the one of the last build stays in its place until this one is whole."""
    half_written = ARCHIVE.with_suffix(".part")
    half_written.unlink(missing_ok=True)
    files = sorted(path for path in SITE.rglob("*") if path.is_file() and path != ARCHIVE)
    with zipfile.ZipFile(half_written, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in files:
            archive.write(path, Path("host-to-device") / path.relative_to(SITE))
    half_written.replace(ARCHIVE)


def main() -> int:
    status = build()
    if status:
        print("make book: the build failed; what to mend stands above", file=sys.stderr)
        return status
    pack()
    print(
        f"\nThe book is built. Open {SITE / 'index.html'}\nor run `make serve` and open http://localhost:8000"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
