"""Ctrl-C while a script runs."""

import logging
import os
import signal
from threading import Thread

import pytest

from panewise.cli.interruption import Interruption, silent_stop


def test_a_second_ctrl_c_is_not_noted() -> None:
    """semantics 46.47"""
    interruption = Interruption(int)
    interruption.check()
    with interruption.noted(), interruption.polled():
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interruption.check()


def test_another_thread_has_no_handler() -> None:
    """semantics 46.47"""
    before, seen = signal.getsignal(signal.SIGINT), list[object]()

    def run() -> None:
        with Interruption(int).noted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]


def test_calls_that_are_interrupted_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """semantics 46.47"""
    with silent_stop(object(), is_new=False):
        logging.getLogger("py4j.clientserver").error("interrupted")
    logging.getLogger("py4j.clientserver").error("later")
    assert caplog.messages == ["later"]
