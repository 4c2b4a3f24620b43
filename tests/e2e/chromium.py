# SPDX-License-Identifier: Apache-2.0
"""Drive a headless Chromium over --remote-debugging-pipe: standard library only, real input events.

The pipe carries one JSON message after the other, each ended by a NUL byte: file descriptor 3 of the
browser reads commands, 4 writes answers and events.
"""

import json
import os
import select
import subprocess
import time

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--remote-debugging-pipe", "about:blank"]
TIMEOUT_S = 60


class Browser:
    """One Chromium process with its own profile folder."""

    def __init__(self, binary, profile_dir):
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()
        self._process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_read, from_write), "sh",
             binary, "--user-data-dir=" + profile_dir, *FLAGS],
            pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self._rest = b""
        self._next_id = 0
        self.events = []

    def close(self):
        try:
            self.call("Browser.close")
        except (OSError, TimeoutError, RuntimeError):
            self._process.kill()
        self._process.wait()

    def _receive(self, deadline):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("no answer from the browser")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise RuntimeError("the browser has gone")
            self._rest += data
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._next_id:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            self.events.append(answer)

    def wait_event(self, method, since):
        deadline = time.monotonic() + TIMEOUT_S
        while not any(event.get("method") == method for event in self.events[since:]):
            self.events.append(self._receive(deadline))


class Page:
    """One tab. Input goes through the browser's own input pipeline, as a person's would."""

    def __init__(self, browser, url, width=1400, height=800, scripts=True, dark=False, before=""):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._target = target
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._first_event = len(browser.events)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        if before:  # a script that runs before those of the page
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.go(url)

    def call(self, method, **params):
        return self.browser.call(method, self._session, **params)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self._target)

    def go(self, url):
        since = len(self.browser.events)
        self.call("Page.navigate", url=url)
        self.browser.wait_event("Page.loadEventFired", since)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def eval(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (expression, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def settle(self):
        """Until two frames are painted: what was dispatched has had its effect."""
        self.eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")

    def wait(self, expression):
        """Poll @expression; True once it is truthy, False after 5 s."""
        deadline = time.monotonic() + 5
        while not self.eval(expression):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def key(self, key, ctrl=False, shift=False):
        special = {"Escape": 27, "Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38,
                   "ArrowRight": 39, "ArrowDown": 40, "Backspace": 8}
        params = {"key": key, "modifiers": (2 if ctrl else 0) | (8 if shift else 0),
                  "code": key if key in special else "",
                  # punctuation has no code of its own here: '(' would be 40, the down arrow
                  "windowsVirtualKeyCode": special.get(key) or (ord(key.upper()) if key.isalnum() else 0)}
        if key not in special and not ctrl:
            params["text"] = key
        elif key == "Enter":
            params["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **params)
        params.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)
        self.settle()

    def type(self, text):
        for character in text:
            self.key(character)

    def screenshot(self, path):
        import base64
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def complaints(self):
        """What no page may do: exceptions, console errors, dialogs, requests to anywhere."""
        found = []
        for event in self.browser.events[self._first_event:]:
            if event.get("sessionId") != self._session:
                continue
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append("console.%s" % params["type"])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Page.javascriptDialogOpening":
                found.append("dialog: " + params["message"])
            elif method == "Network.requestWillBeSent" and \
                    not params["request"]["url"].startswith(("file:", "about:", "data:")):
                found.append("request: " + params["request"]["url"])
        return found
