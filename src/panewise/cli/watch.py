"""`panewise watch JOURNAL` shows the running queries of a journal on a page that updates itself."""

import argparse
import sys
import webbrowser
from threading import Event
from typing import Any


def add_command(commands: Any) -> None:
    """Adds the command `panewise watch` to a parser."""
    watch = commands.add_parser(
        "watch",
        help="show running queries on a page that updates itself",
        description=(
            "Serves a page that shows the windows, the watermark, late rows, rates and state of the queries "
            "that observe(spark, journal=JOURNAL) watches, until Ctrl-C. It changes nothing, and needs "
            "neither Spark nor the checkpoint. The journal may be begun later."
        ),
    )
    watch.add_argument("journal", metavar="JOURNAL", help="the directory of the journal")
    watch.add_argument("--port", type=int, default=0, metavar="N", help="the port; default: a free one")
    watch.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address on which the page is served; default: 127.0.0.1, this machine only",
    )
    watch.add_argument("--open", action="store_true", help="open the page in a browser")
    watch.set_defaults(run=_run)


def _run(namespace: argparse.Namespace) -> int:
    """Serves the page until it is interrupted; returns the exit status."""
    from panewise.observe.watch.server import WatchServer, is_loopback  # noqa: PLC0415 - no other command needs it

    server = WatchServer(namespace.journal, host=namespace.host, port=namespace.port)
    server.start()
    try:
        print(server.url, flush=True)
        if not is_loopback(namespace.host):
            warning = "everyone who can reach this address can read the page; it has no password"
            print(f"panewise: {warning}", file=sys.stderr)
        if namespace.open:
            webbrowser.open(server.url)
        Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0
