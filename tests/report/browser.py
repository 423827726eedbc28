"""A Chromium without a window that tests drive through its DevTools protocol: open a file, press keys, click, ask the page, look at what went wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from base64 import b64decode
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--remote-debugging-port=0", "--hide-scrollbars")
PATIENCE = 30.0
KEY_CODES = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "PageDown": 34, "End": 35, "Home": 36, "Tab": 9}


def missing() -> str:
    """Why there is no browser to test with; empty when there is one."""
    if not any(map(shutil.which, NAMES)):
        return "no Chromium is installed"
    try:
        import websocket  # noqa: F401
    except ImportError:
        return "the package websocket-client is not installed"
    return ""


class Browser:
    """One page.  `problems` are the errors and warnings that the page has caused so far."""

    def __init__(self, width: int = 1500, height: int = 950) -> None:
        import websocket

        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        program = next(filter(None, map(shutil.which, NAMES)))
        command = [program, *FLAGS, f"--user-data-dir={self.folder.name}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.problems: list[str] = []
        self.loaded: list[str] = []
        self._number = 0
        port = self._port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as answer:
            target = next(each for each in json.load(answer) if each["type"] == "page")
        self._socket = websocket.create_connection(target["webSocketDebuggerUrl"], suppress_origin=True, timeout=PATIENCE)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def _port(self) -> int:
        file, end = Path(self.folder.name, "DevToolsActivePort"), time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if file.is_file() and "\n" in file.read_text():
                return int(file.read_text().splitlines()[0])
            time.sleep(0.05)
        raise TimeoutError("the browser did not start")

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that come meanwhile are noted."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        told = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = told["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.problems.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.problems.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                self.loaded.append(told["request"]["url"])

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a file and wait until it is there."""
        self.send("Page.navigate", url="about:blank")  # the same file again would be a jump in the page that is there
        self.send("Page.navigate", url=path.resolve().as_uri() + fragment)
        end = time.monotonic() + PATIENCE
        while self.ask("document.readyState + (document.querySelector('#tabs button') ? 1 : 0)") != "complete1":
            assert time.monotonic() < end, ("the page did not start", self.problems)
            time.sleep(0.02)
        self.settle()

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page, as JSON."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def settle(self) -> None:
        """Wait until the page has been drawn twice."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")

    def press(self, key: str, times: int = 1) -> None:
        """Press a key."""
        for _ in range(times):
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=KEY_CODES.get(key, ord(key[0])), **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=KEY_CODES.get(key, ord(key[0])))
        self.settle()

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of the visible part of an element's left end."""
        found = self.ask(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; }})()")
        left, top, width, height = found
        return left + min(width / 2, 60), top + height / 2

    def click(self, selector: str) -> None:
        """Click on an element that is in view."""
        x, y = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def hover(self, selector: str) -> None:
        """Move the pointer over an element that is in view."""
        x, y = self.place(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def prefer(self, scheme: str) -> None:
        """Let the system prefer `light` or `dark`."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def screenshot(self, path: Path) -> None:
        """Write a PNG of what is in view."""
        path.write_bytes(b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
