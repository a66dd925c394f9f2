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
# The same with Python for the browser and a command that serves it: a page opened as a file cannot start a worker.
LIVE_ARCHIVE = SITE / "host-to-device-offline-live.zip"
LIVE = SITE / "_static" / "live"
SERVER = ROOT / "book" / "live" / "serve.py"


def build() -> int:
    """Run Jupyter Book; return its exit status."""
    jupyter_book = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", jupyter_book, "build", str(ROOT), "-n", "-W", "--keep-going"]
    return subprocess.call(command, cwd=ROOT)


def pack(target: Path = ARCHIVE, live: bool = False) -> None:
    """Write a zip of the site; the one of the last build stays in its place until this one is whole.

    Parameters
    ----------
    target
        The file.
    live
        Whether Python for the browser goes along, with the command that serves the folder.
    """
    half_written = target.with_suffix(".part")
    half_written.unlink(missing_ok=True)
    files = sorted(path for path in SITE.rglob("*") if path.is_file() and path not in (ARCHIVE, LIVE_ARCHIVE))
    with zipfile.ZipFile(half_written, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in files:
            if live or LIVE not in path.parents:
                archive.write(path, Path("host-to-device") / path.relative_to(SITE))
        if live:
            archive.write(SERVER, "host-to-device/serve.py")
    half_written.replace(target)


def main() -> int:
    status = build()
    if status:
        print("make book: the build failed; what to mend stands above", file=sys.stderr)
        return status
    pack()
    if (LIVE / "manifest.json").exists():
        pack(LIVE_ARCHIVE, live=True)
    print(
        f"\nThe book is built. Open {SITE / 'index.html'}\nor run `make serve` and open http://localhost:8000"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
