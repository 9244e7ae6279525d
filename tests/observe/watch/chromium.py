"""Chromium without a window, driven over its DevTools protocol through a pipe. It needs no other package."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Resolves when a condition holds, which is tested after each change of the page.
_UNTIL = """new Promise((resolve) => {
  const test = () => { if (%s) { watcher.disconnect(); resolve(true); } };
  const watcher = new MutationObserver(test);
  watcher.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  test();
})"""


class Page:
    """A page of Chromium. Commands and answers are JSON, each ended by a zero byte."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._number, self._rest = to, back, 0, b""
        self.problems: list[str] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method, and returns its result. What the page logs meanwhile is a problem."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(
            self._to,
            json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0",
        )
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]  # type: ignore[no-any-return]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.problems.append(json.dumps(answer["params"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._back, 1 << 16)
            assert chunk, "Chromium has ended"
            self._rest += chunk
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)  # type: ignore[no-any-return]

    def open(self, url: str) -> None:
        """Opens a page. What it shows later is another matter."""
        self.call("Page.navigate", url=url)

    def value(self, script: str) -> Any:
        """Returns the value of an expression in the page; of a promise what it resolves to."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_until(self, condition: str) -> None:
        """Waits until a condition holds in the page."""
        self.value(_UNTIL % condition)

    def wait_for(self, text: str) -> None:
        """Waits until the page has a text."""
        self.wait_until(f"document.body && document.body.textContent.includes({json.dumps(text)})")

    def theme(self, name: str) -> None:
        """Makes the page light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path: Path, width: int = 1240) -> bytes:
        """Writes the whole page to a PNG file, and returns it."""
        height = self.value("document.documentElement.scrollHeight")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        image = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(image)
        return image


@contextmanager
def chromium(profile: Path) -> Iterator[Page]:
    """Starts Chromium, and ends it. Without Chromium the test is skipped."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("this test needs Chromium: run `make browser` as root (Debian, Ubuntu), or install it")
    into, out = os.pipe(), os.pipe()
    arguments = [
        program,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
    ]
    arguments += [
        "--disable-dev-shm-usage",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
        "about:blank",
    ]

    def as_three_and_four() -> None:
        """Chromium reads commands from 3 and writes answers to 4."""
        commands, answers = os.dup(into[0]), os.dup(out[1])
        os.dup2(commands, 3)
        os.dup2(answers, 4)

    process = subprocess.Popen(
        arguments,
        close_fds=False,
        preexec_fn=as_three_and_four,  # noqa: PLW1509 - the process has no other thread that could hold a lock
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(into[0])
    os.close(out[1])
    try:
        yield Page(into[1], out[0])
    finally:
        os.close(into[1])
        os.close(out[0])
        process.kill()
        process.wait()
