"""`panewise watch JOURNAL` shows the running queries of a journal on a page that updates itself."""

import webbrowser
from threading import Event

import click

from panewise.cli.command import argument, new_command

_SECONDS = 0.5  # how long Ctrl-C may take


@new_command(
    "watch",
    "Serves a page that shows the windows, the watermark, late rows, rates and state of the queries that "
    "observe(spark, journal=JOURNAL) watches, until Ctrl-C. It changes nothing, and needs neither Spark nor "
    "the checkpoint. The journal may be begun later.",
    "panewise watch out/journal --open",
)
@argument("journal", "the directory of the journal", type=click.Path(file_okay=False))
@click.option("--port", type=int, default=0, metavar="N", help="the port", show_default="a free one")
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="the address on which the page is served",
    show_default="127.0.0.1, this machine only",
)
@click.option("--open", "opens", is_flag=True, help="open the page in a browser")
def command(*, journal: str, port: int, host: str, opens: bool) -> int:
    """Serves the page until it is interrupted; returns the exit status."""
    from panewise.observe.watch.server import WatchServer, is_loopback  # noqa: PLC0415 - no other command needs it

    server = WatchServer(journal, host=host, port=port)
    server.start()
    try:
        click.echo(server.url)
        if not is_loopback(host):
            warning = "everyone who can reach this address can read the page; it has no password"
            click.echo(f"panewise: {warning}", err=True)
        if opens:
            webbrowser.open(server.url)
        never = Event()
        while not never.wait(_SECONDS):  # Python may miss Ctrl-C just before a wait without an end
            continue
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0
