"""Files that are made once and kept: compiled kernels, listings, PyTorch's device."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

MOST_ENTRIES = 1000  # in one cache, of some 50 KB each: beyond, those unused for longest go


def kept(folder: Path, key: str) -> tuple[Path, dict] | None:
    """Return a file that a `Cache` keeps in a folder, and its note, or None where there is none or it is damaged."""
    try:
        note = json.loads((folder / f"{key}.json").read_bytes())
        path = folder / note["file"]
        if path.parent != folder or hashlib.sha256(path.read_bytes()).hexdigest() != note["sha256"]:
            return None
        about = note["about"]
        if hashlib.sha256(json.dumps(about).encode()).hexdigest() != note["about_sha256"]:
            return None
        return path, about
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Cache:
    """Compiled files by key, each with what is known of it.

    A file is written under another name and then moved to its own, which says what is in it; the note that leads to
    it comes last. So two processes may work on one folder, and whatever is damaged is made anew.

    Parameters
    ----------
    folder
        Where; it is created, for this user alone. Where that is impossible, a temporary folder serves this process.
    error
        What is raised where no file can be kept at all.
    """

    def __init__(self, folder: Path, error: type[Exception] = OSError) -> None:
        self.folder, self.error = folder, error
        self.temporary: tempfile.TemporaryDirectory | None = None
        self.lock = threading.RLock()
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            about = folder.stat()
            if about.st_uid != os.getuid() or about.st_mode & 0o022:
                self.fall_back()  # another user could put code here
        if not os.access(folder, os.W_OK | os.X_OK) and not os.access(folder, os.R_OK | os.X_OK):
            self.fall_back()

    def fall_back(self) -> None:
        """Go on in a folder that lives as long as this process."""
        if self.temporary is None:
            try:
                self.temporary = tempfile.TemporaryDirectory(prefix="host-to-device-")
            except OSError as problem:
                raise self.error(
                    f"no place for a compiled kernel, neither in {self.folder} nor in a temporary folder: "
                    f"{problem.strerror}"
                ) from None
            self.folder = Path(self.temporary.name)

    def get(self, key: str) -> tuple[Path, dict] | None:
        """Return a file and its note, or None where there is none or it is damaged."""
        found = kept(self.folder, key)
        if found:
            with contextlib.suppress(OSError):
                os.utime(self.folder / f"{key}.json")  # it is in use
        return found

    def put(self, key: str, suffix: str, make: Callable[[Path], dict]) -> tuple[Path, dict]:
        """Let `make` write a file and say what is to be known of it; keep both."""
        with self.lock:
            try:
                return self.write(key, suffix, make)
            except OSError:
                if self.temporary is not None:
                    raise
                self.fall_back()  # read-only, or full
            try:
                return self.write(key, suffix, make)
            except OSError as problem:
                raise self.error(f"no place for a compiled kernel: {problem.strerror or problem}") from None

    def write(self, key: str, suffix: str, make: Callable[[Path], dict]) -> tuple[Path, dict]:
        handle, name = tempfile.mkstemp(dir=self.folder, prefix="new-", suffix=suffix)
        os.close(handle)
        try:
            about = make(Path(name))
            digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
            path = self.folder / f"{key}-{digest[:16]}{suffix}"
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        note = {
            "file": path.name,
            "sha256": digest,
            "about": about,
            "about_sha256": hashlib.sha256(json.dumps(about).encode()).hexdigest(),
        }
        handle, name = tempfile.mkstemp(dir=self.folder, prefix="new-", suffix=".json")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(note, file)
            os.replace(name, self.folder / f"{key}.json")
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        self.prune(path)
        return path, about

    def prune(self, newest: Path) -> None:
        """Drop what has not been used for longest, where there is too much."""
        notes = list(self.folder.glob("*.json"))
        if len(notes) <= MOST_ENTRIES:
            return
        with contextlib.suppress(OSError):  # another process may do the same
            notes.sort(key=lambda path: path.stat().st_mtime)
            for note in notes[: len(notes) - MOST_ENTRIES * 4 // 5]:
                note.unlink()
                for path in self.folder.glob(f"{note.stem}-*"):
                    if path != newest:
                        path.unlink()
