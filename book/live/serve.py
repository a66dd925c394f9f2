"""Serve this folder on this machine, so that its pages can run their cells: `python3 serve.py`, or `python3 serve.py 8001`."""

import functools
import http.server
import pathlib
import sys


def main(port: int) -> None:
    """Serve the folder that this file is in at http://localhost:port until Ctrl-C."""
    folder = str(pathlib.Path(__file__).resolve().parent)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"Open http://localhost:{server.server_port} (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
    except (OSError, ValueError, OverflowError) as problem:
        sys.exit(f"Cannot serve the book ({problem}): name another port, such as python3 serve.py 8001")
