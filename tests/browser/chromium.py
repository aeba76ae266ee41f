"""Drives a headless Chromium through its DevTools protocol on a pipe: no driver program, no package.

    with chromium.Browser() as browser:
        page = browser.open("file:///tmp/page.html", width=1280, height=900)
        page.value("document.title")
        page.key("/")
        page.problems  # what the console and the content security policy complained about
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 60
KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}


def program():
    """The browser of this machine, or None."""
    return next((found for found in map(shutil.which, PROGRAMS) if found), None)


class Error(Exception):
    pass


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session
        self.problems = []
        self.loaded = False

    def send(self, method, **parameters):
        return self.browser.send(method, parameters, self.session)

    def value(self, expression):
        """What a JavaScript expression is; a promise is waited for."""
        done = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
                         userGesture=True)
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise Error(details.get("exception", {}).get("description", details["text"]))
        return done["result"].get("value")

    def until(self, expression, seconds=10):
        """Waits until it is true."""
        end = time.monotonic() + seconds
        while not self.value(f"!!({expression})"):
            if time.monotonic() > end:
                raise Error(f"never true: {expression}")
            time.sleep(0.02)

    def key(self, key):
        one = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key.upper()[0])), "code": key}
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **one, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **one)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        """A real click in the middle of the first element; it must be what is hit there."""
        place = self.value(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            if (!element) return null;
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = element.getBoundingClientRect();
            const x = box.left + box.width / 2, y = box.top + box.height / 2;
            const hit = document.elementFromPoint(x, y);
            return {{x, y, hit: hit === element || element.contains(hit)}};
        }})()""")
        if not place or not place["hit"]:
            raise Error(f"cannot click {selector}: " + ("something covers it" if place else "not there"))
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, place["x"], place["y"], button="left", clickCount=1)

    def dark(self, dark=True):
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"]))


class Browser:
    def __init__(self, *options):
        self.place = tempfile.mkdtemp(prefix="gv-chromium-")
        to_us, self.write_end = os.pipe()
        self.read_end, from_us = os.pipe()
        # The browser reads its file 3, and writes its file 4.
        with open(os.path.join(self.place, "log"), "wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", f'exec "$@" 3<&{to_us} 4>&{from_us}', "sh", program(), "--headless", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
                 f"--user-data-dir={self.place}/profile", "--remote-debugging-pipe", *options],
                pass_fds=(to_us, from_us), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        os.close(to_us)
        os.close(from_us)
        self.count = 0
        self.rest = b""
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # All of its processes are in the session that it leads.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.place, ignore_errors=True)

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            if not select.select([self.read_end], [], [], max(0, end - time.monotonic()))[0]:
                raise Error("the browser does not answer")
            read = os.read(self.read_end, 1 << 20)
            if not read:
                with open(os.path.join(self.place, "log"), encoding="utf-8", errors="replace") as log:
                    raise Error("the browser ended: " + log.read()[-2000:])
            self.rest += read
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            self.note(page, message["method"], message["params"])
        return message

    @staticmethod
    def note(page, method, event):
        if method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            page.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            page.problems.append(" ".join(str(value.get("value", value.get("description"))) for value in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            page.problems.append(event["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            page.problems.append("a dialog opened: " + event["message"])
        elif method == "Network.requestWillBeSent" and not event["request"]["url"].startswith(("file:", "data:")):
            page.problems.append("asked the network for " + event["request"]["url"])
        elif method == "Page.loadEventFired":
            page.loaded = True

    def send(self, method, parameters=None, session=None):
        self.count += 1
        mine = self.count
        message = {"id": mine, "method": method, "params": parameters or {}, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        end = time.monotonic() + SECONDS
        while True:
            answer = self.receive(end - time.monotonic())
            if answer.get("id") == mine:
                if "error" in answer:
                    raise Error(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, url, width=1280, height=900, dark=False):
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.dark(dark)
        page.loaded = False
        page.send("Page.navigate", url=url)
        end = time.monotonic() + SECONDS
        while not page.loaded:
            self.receive(end - time.monotonic())
        return page
