"""Tests of the server of the page: what it serves, and to whom."""

import json
import re
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError
from panewise.observe.journal import Journal
from panewise.observe.watch.server import WatchServer
from tests.observe.played import Played

SPEC = pw.WindowOperator(
    keys=["k"], event_time="ts", window=pw.Tumbling("1 minute"), aggregates=[F.sum("v").alias("s")]
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchServer]:
    (tmp_path / "secret").write_text("secret")
    running = WatchServer(tmp_path / "journal")
    running.start()
    yield running
    running.close()


def request(
    server: WatchServer, path: str, method: str = "GET", **headers: str
) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def view(server: WatchServer, revision: int = 0) -> dict[str, Any]:
    _, content = request(server, f"/view?revision={revision}")
    return json.loads(content)  # type: ignore[no-any-return]


def test_the_page_is_served_to_this_machine(server: WatchServer) -> None:
    """The default address is loopback (semantics 15.20)."""
    assert server.url == f"http://127.0.0.1:{server.port}/"
    for path, kind in (
        ("/", "text/html"),
        ("/watch.js", "text/javascript"),
        ("/watch.css", "text/css"),
        ("/picture.css", "text/css"),
        ("/view", "application/json"),
    ):
        response, content = request(server, path)
        assert (response.status, response.headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")
        assert len(content) == int(response.headers["Content-Length"]) > 0
        assert response.headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert response.headers["Cache-Control"] == "no-store"


def test_the_page_needs_no_other_server(server: WatchServer) -> None:
    """Nothing is loaded from elsewhere, and no script or style is inline (semantics 15.20)."""
    pages = [request(server, path)[1].decode() for path in ("/", "/watch.js", "/watch.css", "/picture.css")]
    links = re.findall(r"(?:href|src)=\"([^\"]*)\"", pages[0])
    assert sorted(links) == ["/picture.css", "/watch.css", "/watch.js", "data:,"]
    assert "<style" not in pages[0]
    assert not re.search(r"<script(?! src)", pages[0])
    assert all(not re.search(r"https?://(?!www\.w3\.org/)", page) for page in pages)
    assert all(word not in pages[1] for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval("))


@pytest.mark.parametrize(
    "path",
    [
        "/secret",
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "//etc/passwd",
        "/etc/passwd",
        "/watch.js/../../../../secret",
        "/page/index.html",
        "/00000001.jsonl",
        "/view/",
        "/VIEW",
        "/index.html\0",
    ],
)
def test_nothing_else_is_served(server: WatchServer, path: str) -> None:
    """No path leads to a file but to the four of the page (semantics 15.20)."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.split(b" ", 2)[1] in (b"404", b"400")
    assert b"secret" not in answer.split(b"\r\n\r\n", 1)[1].replace(path.encode(), b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(server: WatchServer, method: str) -> None:
    """Only GET is answered (semantics 15.20)."""
    response, _ = request(server, "/view", method)
    assert response.status == 501


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8931", 200),
        ("[::1]:8931", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:80", 403),
        ("", 403),
    ],
)
def test_other_names_of_this_machine_are_refused(server: WatchServer, host: str, status: int) -> None:
    """So a page of another site cannot read this one by a name of its own (semantics 15.20)."""
    assert request(server, "/view", Host=host)[0].status == status


def test_an_address_that_others_can_reach(tmp_path: Path) -> None:
    """It is served under every name, if that was requested (semantics 15.20)."""
    server = WatchServer(tmp_path, host="0.0.0.0")
    server.start()
    try:
        assert request(server, "/view", Host="spark.example")[0].status == 200
    finally:
        server.close()


def test_the_page_updates_itself(server: WatchServer, tmp_path: Path) -> None:
    """It requests what is newer than the revision that it shows; a reload requests all (semantics 15.20)."""
    assert view(server)["exists"] is False
    journal, operator = Journal(tmp_path / "journal"), Played(SPEC)
    journal.add(operator.micro_batch([(5, "a", 1)], 0))
    first = view(server)
    assert first["queries"][0]["name"] == "played"
    assert view(server, first["revision"]) == {"revision": first["revision"]}
    journal.add(operator.micro_batch([(65, "a", 1)], 60))
    second = view(server, first["revision"])
    assert second["revision"] > first["revision"]
    assert view(server) == second
    journal.close()
    assert view(server) == second


@pytest.mark.parametrize(
    "query", ["?revision=", "?revision=x", "?revision=-1", "?revision=1&revision=2", "?x=1"]
)
def test_other_revisions_get_everything(server: WatchServer, query: str) -> None:
    _, content = request(server, f"/view{query}")
    assert "queries" in json.loads(content)


def test_a_port_that_is_used(server: WatchServer, tmp_path: Path) -> None:
    with pytest.raises(
        SetupError,
        match=rf"port={server.port} \| a server needs an address that it can open: .* \| give a free port",
    ):
        WatchServer(tmp_path, port=server.port)
    with pytest.raises(
        SetupError, match=r"port=70000 \| a server needs an address that it can open: .* \| give a free port"
    ):
        WatchServer(tmp_path, port=70000)
