"""Serve `_build/html` as the published site is served: with its 404 page, on this machine only."""

import functools
import http.server
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from book import address  # noqa: E402

SITE = ROOT / "_build" / "html"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site at `/` and also at the path that it has on its host, which the 404 page's links use."""

    prefix = address.read().site_path

    def translate_path(self, path: str) -> str:
        prefix = self.prefix
        return super().translate_path("/" + path.removeprefix(prefix) if path.startswith(prefix) else path)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = SITE / "404.html"
        if code != 404 or not page.exists():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def server(port: int, site: Path = SITE) -> http.server.ThreadingHTTPServer:
    """Return a server for the built site, listening on localhost; port 0 takes a free one."""
    return http.server.ThreadingHTTPServer(
        ("127.0.0.1", port), functools.partial(Handler, directory=str(site))
    )


def main(arguments: list[str]) -> int:
    try:
        port = int(arguments[0]) if arguments else 8000
        listening = server(port)
    except (ValueError, OverflowError):
        print(f"make serve: {arguments[0]} is not a port; try make serve PORT=8001", file=sys.stderr)
        return 2
    except OSError:
        print(f"make serve: port {port} is in use; try make serve PORT={port + 1}", file=sys.stderr)
        return 1
    print(f"Serving the book at http://localhost:{listening.server_port} (Ctrl-C stops it)", flush=True)
    try:
        listening.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
