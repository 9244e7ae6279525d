"""Serves the page over HTTP. Nothing but the page and what a journal says is served."""

import json
import socket
from collections.abc import Callable
from functools import cache, partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from panewise.errors import SetupError
from panewise.observe.scene_svg import STYLE
from panewise.observe.watch.model import WatchModel

_PAGE: Final = {
    "/": ("index.html", "text/html"),
    "/watch.js": ("watch.js", "text/javascript"),
    "/watch.css": ("watch.css", "text/css"),
}
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class WatchServer:
    """The server of the page. It serves from :meth:`start` to :meth:`close`.

    Raises:
        SetupError: if the port cannot be used.
    """

    def __init__(self, directory: str | Path, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.model = WatchModel(directory)
        self._local = is_loopback(host)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        server = type("Server", (ThreadingHTTPServer,), {"address_family": family})
        try:
            self._server: ThreadingHTTPServer = server((host, port), self._handler())
        except (OSError, OverflowError) as error:
            rule = f"a server needs an address that it can open: {error}"
            raise SetupError(f"host={host!r}, port={port}", rule, "give a free port, or 0") from None
        self._server.daemon_threads = True
        shown = f"[{host}]" if ":" in host else host
        self.port: int = self._server.server_address[1]
        self.url = f"http://{shown}:{self.port}/"
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begins to serve, in a thread of its own."""
        serve = partial(self._server.serve_forever, poll_interval=0.1)  # how long `close` waits
        self._thread = Thread(target=serve, name="panewise watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops serving."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        """Returns the handler of requests, which knows this server."""
        members: dict[str, Any] = {"answer": staticmethod(self._answer)}
        return type("Handler", (_Handler,), members)

    def _answer(self, target: str, host: str) -> tuple[HTTPStatus, str, bytes]:
        """Returns status, type and content for a path."""
        if self._local and not _is_local_name(host):
            # A page of another site may reach this server under a name of its own, but not read it.
            return HTTPStatus.FORBIDDEN, "text/plain", b"this page is served to this machine only\n"
        parts = urlsplit(target)
        if parts.path in _PAGE:
            name, kind = _PAGE[parts.path]
            return HTTPStatus.OK, kind, _file(name)
        if parts.path == "/picture.css":
            return HTTPStatus.OK, "text/css", STYLE.encode()
        if parts.path == "/view":
            return HTTPStatus.OK, "application/json", self._view(parse_qs(parts.query).get("revision"))
        return HTTPStatus.NOT_FOUND, "text/plain", b"there is no such page\n"

    def _view(self, known: list[str] | None) -> bytes:
        """Returns what the page shows, or only its revision if the page knows it."""
        view = self.model.view()
        is_known = known == [str(view["revision"])] and view["revision"] > 0
        return json.dumps({"revision": view["revision"]} if is_known else view).encode()


class _Handler(BaseHTTPRequestHandler):
    """Answers requests. It has one thread for each connection."""

    answer: Callable[[str, str], tuple[HTTPStatus, str, bytes]]
    timeout = 30  # seconds, for a connection that says nothing

    def do_GET(self) -> None:
        """Answers a request."""
        status, kind, content = self.answer(self.path, self.headers.get("Host", ""))
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives
        """Logs nothing."""


@cache
def _file(name: str) -> bytes:
    return files("panewise.observe.watch").joinpath("page", name).read_bytes()


def is_loopback(host: str) -> bool:
    """Returns whether an address is of this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_local_name(host: str) -> bool:
    """Returns whether the header `Host` names this machine, with any port."""
    name = urlsplit(f"//{host}").hostname
    return name is not None and is_loopback(name)
