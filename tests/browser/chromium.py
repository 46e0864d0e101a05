"""A page in a real browser: chromium's DevTools protocol over two pipes, nothing to install.

The protocol's messages are JSON documents that end in a zero byte; chromium reads them from file
descriptor 3 and writes to 4.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
_ANSWER_SECONDS = 60
# Runs before the browser, in its process: puts the pipes where it looks for them.
_MOVE_PIPES = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for place, end in zip((3, 4), ends):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def executable() -> str | None:
    """The browser, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab. `events` holds everything the browser reported so far."""

    def __init__(self, writing: int, reading: int) -> None:
        self._writing, self._reading = writing, reading
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def attach(self, width: int, height: int) -> None:
        """Open an empty tab of this size and listen to it."""
        target = self.call("Target.createTarget", url="about:blank")
        answer = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._reading], [], [], max(0.0, left))
            assert ready, f"the browser didn't answer within {_ANSWER_SECONDS} seconds"
            chunk = os.read(self._reading, 1 << 16)
            assert chunk, "the browser closed the connection"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def open(self, path: Path) -> None:
        """Load a file and wait until its scripts have run."""
        self.call("Page.navigate", url=path.as_uri())
        for _ in range(400):
            if self.evaluate(
                "document.readyState === 'complete' && location.href !== 'about:blank'"
            ):
                return
            time.sleep(0.05)
        raise AssertionError(f"{path} didn't finish loading")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """A key as the keyboard would send it: down with its text, then up."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Text into the focused field."""
        self.call("Input.insertText", text=text)

    def prefer(self, scheme: str) -> None:
        """What the reader's system says: "light" or "dark"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def screenshot(self) -> bytes:
        """What is on the screen, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and uncaught exceptions."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            if event.get("method") == "Runtime.consoleAPICalled":
                found.append(str(parameters["args"]))
            if event.get("method") == "Log.entryAdded":
                found.append(str(parameters["entry"]))
        return found

    def requested(self) -> list[str]:
        """The address of every request that the page made."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]


@contextmanager
def opened(width: int = 1280, height: int = 900) -> Iterator[Page]:
    """A browser with one tab; closed and cleaned up at the end."""
    path = executable()
    assert path is not None
    to_browser, from_browser = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        ends = (str(to_browser[0]), str(from_browser[1]))
        command = [sys.executable, "-c", _MOVE_PIPES, *ends]
        browser = subprocess.Popen(
            [*command, path, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(to_browser[0], from_browser[1]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser[0])
        os.close(from_browser[1])
        try:
            page = Page(to_browser[1], from_browser[0])
            page.attach(width, height)
            yield page
        finally:
            browser.terminate()
            try:
                browser.wait(10)
            except subprocess.TimeoutExpired:
                browser.kill()
                browser.wait()
            os.close(to_browser[1])
            os.close(from_browser[0])
