"""How the library's own errors look in a notebook: their line, and no traceback."""

from __future__ import annotations


class OneLine(Exception):
    """Base of an error whose message is all that a reader needs: notebooks show the line alone."""

    def _render_traceback_(self) -> list[str]:
        # IPython asks an exception for its own rendering: the traceback would bury the one useful line.
        return [f"host_to_device: {self}"]
