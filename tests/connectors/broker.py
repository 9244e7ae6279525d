"""A Kafka broker on loopback: a process that can be killed and started again over the same log."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tests.connectors.jars import KAFKA_BROKER, jars
from tests.faults.processes import kill_job, living, wait_until
from tests.faults.rounds import PATIENCE
from tests.jvm import QUICK_JVM

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={folder}/log
num.partitions={partitions}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"  # 16 bytes in base64


class Broker:
    """One node that is broker and controller (KRaft), and creates a topic at the first write to it.

    Its files are under `folder`.
    """

    def __init__(self, folder: Path, partitions: int) -> None:
        folder.mkdir(parents=True)
        self.folder, (self._port, controller) = folder, _free_ports()
        self.address = f"127.0.0.1:{self._port}"
        self._settings = folder / "server.properties"
        settings = _PROPERTIES.format(
            port=self._port, controller=controller, folder=folder, partitions=partitions
        )
        self._settings.write_text(settings, encoding="utf-8")
        formatted = self._run("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._settings))
        assert formatted.wait(PATIENCE) == 0, self.log

    @property
    def log(self) -> str:
        """The end of what the broker has printed."""
        return (self.folder / "printed").read_text(errors="replace")[-4000:]

    @contextmanager
    def running(self) -> Iterator["Broker"]:
        """Yields the started broker, and kills it at the end."""
        try:
            self.start()
            yield self
        finally:
            self.kill()

    def start(self) -> None:
        """Starts the broker, and waits until it accepts connections."""
        self._process = self._run("kafka.Kafka", str(self._settings))
        assert wait_until(self._answers, PATIENCE), self.log

    def kill(self) -> None:
        """Kills the broker with SIGKILL, unless it has ended by itself."""
        if self._process.poll() is None:
            kill_job(self._process)
        assert not living([self._process.pid])

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _run(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        of_spark = Path(pyspark.__file__).parent.glob(
            "jars/scala-*.jar"
        )  # Spark's Ivy leaves out what Spark has itself
        classes = os.pathsep.join(map(str, [*jars(KAFKA_BROKER), *of_spark]))
        java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if os.environ.get("JAVA_HOME") else "java"
        command = [
            java,
            "-Xmx256m",
            *QUICK_JVM.split(),
            "-cp",
            classes,
            main,
            *arguments,
        ]
        with (self.folder / "printed").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1]), int(other.getsockname()[1])
