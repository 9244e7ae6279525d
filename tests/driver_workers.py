"""Starts Python workers of the driver quickly, by fork of a process that has imported their modules.

For each streaming query with an operator, Spark starts a Python process on the driver, which declares the
state variables, and through Connect another one for the sinks. That takes a second and a half of a core or
more, nearly all of it for imports. Only the session of the tests starts them by `quick_python`. Jobs in
processes of their own (tests/faults, tests/connectors) start them as users do.

``python -m tests.driver_workers SOCKET`` is the process that forks.
"""

import gc
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_DECLARES = "pyspark.sql.streaming.transform_with_state_driver_worker"
_WRITES = "pyspark.sql.connect.streaming.worker.foreach_batch_worker"
_IMPORTED = (_DECLARES, "pandas", "pyarrow", "panewise.spark.workers.processor")
_LONGEST = 1 << 20  # bytes of a request: the environment of a process
# Asks for a worker, gives it the standard streams, and ends when it does. It needs no package.
_CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(sys.argv[1])
    request = [sys.argv[2], os.getcwd(), dict(os.environ)]
    socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
    server.recv(1)
"""


@contextmanager
def quick_python(folder: Path) -> Iterator[str]:
    """Yields an executable that starts workers of the driver by fork, and is the Python of the tests else."""
    address, client, executable = folder / "workers", folder / "client.py", folder / "python"
    client.write_text(_CLIENT, encoding="utf-8")
    python, *paths = (shlex.quote(str(part)) for part in (sys.executable, client, address))
    forked = f'{python} -S -E {" ".join(paths)} "$2"'
    executable.write_text(
        f'#!/bin/sh\ncase "$2" in {_DECLARES} | {_WRITES}) exec {forked} ;; esac\nexec {python} "$@"\n',
        encoding="utf-8",
    )
    executable.chmod(0o755)
    command = [sys.executable, "-m", "tests.driver_workers", str(address)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield str(executable)
        finally:
            server.communicate()


def serve(address: str) -> None:
    """Forks a worker for each request, until the standard input ends."""
    for name in _IMPORTED:
        import_module(name)
    gc.freeze()  # no worker copies what it only reads
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended workers need no parent
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as requests:
        requests.bind(address)
        requests.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([requests, sys.stdin], [], [])[0]:
            request, _ = requests.accept()
            text, streams, *_ = socket.recv_fds(request, _LONGEST, 3)
            if os.fork() == 0:
                _work(text, streams)
            for file in (*streams, request.detach()):
                os.close(file)


def _work(text: bytes, streams: list[int]) -> None:
    """Runs the requested module in this process, and ends it."""
    code = 0
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        module, folder, environment = json.loads(text)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.path += environment.get("PYTHONPATH", "").split(os.pathsep)  # what a query ships to its workers
        sys.modules.pop(module, None)  # which would be a warning
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
