"""A PostgreSQL server on loopback: a process that can be killed and started again over the same files."""

import os
import pwd
import shutil
import socket
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.connectors.jars import POSTGRES, jars
from tests.faults.processes import kill_job, living, wait_until
from tests.faults.rounds import PATIENCE


class Database:
    """A server with an empty database, whose files are under `folder`.

    PostgreSQL refuses to run as root, and then runs as the user nobody.
    """

    def __init__(self, folder: Path, coordinate: str = POSTGRES[0]) -> None:
        self._folder, self._port = folder, _free_port()
        (jar,) = jars(coordinate)
        with zipfile.ZipFile(jar) as packed:
            (name,) = (name for name in packed.namelist() if name.endswith(".txz"))
            with packed.open(name) as stream, tarfile.open(fileobj=stream, mode="r:xz") as archive:
                archive.extractall(folder / "programs", filter="data")
        self._user = None if os.geteuid() else pwd.getpwnam("nobody")
        data = folder / "data"
        data.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(data, self._user.pw_uid, self._user.pw_gid)
        options = ("-U", "panewise", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "-D", str(data))
        assert self._run("initdb", *options).wait(PATIENCE) == 0, self.log

    @property
    def dsn(self) -> str:
        """Where the database is."""
        return f"postgresql://panewise@127.0.0.1:{self._port}/postgres"

    @property
    def log(self) -> str:
        """The end of what the server has printed."""
        return (self._folder / "printed").read_text(errors="replace")[-4000:]

    def start(self) -> None:
        """Starts the server, and waits until it accepts connections."""
        settings = (
            "listen_addresses=127.0.0.1",
            f"port={self._port}",
            "unix_socket_directories=",
            "fsync=off",
        )
        options = [option for setting in settings for option in ("-c", setting)]
        self._process = self._run("postgres", "-D", str(self._folder / "data"), *options)
        assert wait_until(self._answers, PATIENCE), self.log

    def kill(self) -> None:
        """Kills the server with SIGKILL."""
        if self._process.poll() is None:
            kill_job(self._process)
        assert not living([self._process.pid])

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Returns the rows of a query."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute(statement.encode()).fetchall()

    def run(self, *statements: str) -> None:
        """Runs statements in one transaction."""
        with psycopg.connect(self.dsn) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log
        try:
            psycopg.connect(self.dsn).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Returns a new process of a program, in a session of its own."""
        command = [str(self._folder / "programs" / "bin" / program), *arguments]
        user = None if self._user is None else self._user.pw_uid
        group = None if self._user is None else self._user.pw_gid
        with (self._folder / "printed").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=user,
                group=group,
                extra_groups=None if self._user is None else [],
            )


@contextmanager
def running(coordinate: str = POSTGRES[0]) -> Iterator[Database]:
    """Yields a started server, and kills it at the end.

    Its folder is one that every user can read, as those of pytest are not.
    """
    folder = Path(tempfile.mkdtemp(prefix="panewise-postgres-"))
    folder.chmod(0o755)
    try:
        database = Database(folder, coordinate)
        database.start()
        try:
            yield database
        finally:
            database.kill()
    finally:
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
