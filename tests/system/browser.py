#!/usr/bin/python3
"""Looks at pages in a real browser, narrow and wide, on white and in the dark, and prints what is wrong.

usage: browser.py BROWSER FOLDER PAGE...

BROWSER is a Chromium, driven by the DevTools protocol over a pipe. Screenshots go to FOLDER. What is wrong: a script or resource
that failed, a request for anything but the page, a body that scrolls sideways, text of too little contrast with what is behind it
(WCAG 2.1: 4.5; lines: 3), headings out of order, a picture or a box without a name, a link without a target, and what the keyboard
does not reach, does not show, or does not open. Exit status: 1 if anything is wrong.
"""
import base64
import fcntl
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

WIDTHS = 360, 1600
PATIENCE = 30  # seconds of the browser, in all

LOOK = r"""
(() => {
  const wrong = [], visible = e => e.getClientRects().length > 0;
  const say = (what, e) => wrong.push(what + ": " + (e.textContent.trim().slice(0, 40) || e.outerHTML.slice(0, 80)));
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const clear = c => c === "transparent" || /rgba\(.*, 0\)/.test(c);
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!clear(c)) return c; } return "rgb(255, 255, 255)"; };
  const under = e => { const t = e.getBoundingClientRect(), x = (t.left + t.right) / 2, y = (t.top + t.bottom) / 2; // the last rectangle
    return [...e.closest("svg").querySelectorAll("rect")].reverse().find(r => { const b = r.getBoundingClientRect();
      return b.left <= x && x <= b.right && b.top <= y && y <= b.bottom && getComputedStyle(r).fill !== "none"; }); };
  if (document.documentElement.scrollWidth > WIDTH) wrong.push("the page is " + document.documentElement.scrollWidth + " wide in " + WIDTH);
  document.querySelectorAll("details").forEach(d => d.open = true);
  if (document.documentElement.scrollWidth > WIDTH) wrong.push("opened, the page is " + document.documentElement.scrollWidth + " wide in " + WIDTH);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || /^(title|style|script)$/i.test(e.tagName) || !visible(e)) continue;
    const svg = e.namespaceURI.endsWith("svg"), style = getComputedStyle(e), rect = svg && under(e);
    const ratio = contrast(svg ? style.fill : style.color, rect ? getComputedStyle(rect).fill : behind(e));
    if (ratio < 4.5) say("a contrast of " + ratio.toFixed(2), e);
    if (!svg && parseFloat(style.fontSize) < 12) say("letters of " + style.fontSize, e);
    if (svg && e.getBoundingClientRect().height < 9) say("small letters in a picture", e);
    texts++;
  }
  if (texts < 20) wrong.push("only " + texts + " texts");
  document.querySelectorAll(".series:not(.rest)").forEach(e => { const ratio = contrast(getComputedStyle(e).stroke, behind(e.closest("svg").parentElement)); if (ratio < 3) say("a curve's contrast of " + ratio.toFixed(2), e); });
  let level = 0;
  document.querySelectorAll("h1,h2,h3,h4,h5,h6").forEach(h => { if (+h.tagName[1] > level + 1) say("a heading skips a level", h); level = +h.tagName[1]; });
  if (document.querySelectorAll("h1").length !== 1) wrong.push("no h1, or several");
  if (!document.documentElement.lang || !document.title.trim()) wrong.push("no language or no title");
  document.querySelectorAll("svg").forEach(e => { if (e.getAttribute("aria-hidden") !== "true" && !(e.getAttribute("role") === "img" && e.getAttribute("aria-label"))) say("a picture without a name", e); });
  document.querySelectorAll("*").forEach(e => { if (/auto|scroll/.test(getComputedStyle(e).overflowX) && e !== document.documentElement && !(e.tabIndex === 0 && e.getAttribute("aria-label"))) say("a box that the keyboard does not scroll", e); });
  document.querySelectorAll("a").forEach(a => { if (!a.hash || !document.getElementById(a.hash.slice(1))) say("a link to nowhere", a); });
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  document.querySelectorAll("details").forEach(d => d.open = false);
  return wrong;
})()
"""
# What the keyboard must reach, in this order; and what has the focus, with whether that is seen.
STOPS = "[...document.querySelectorAll('a,summary,.scroll')].filter(e => e.checkVisibility()).length"
FOCUS = """(() => { const e = document.activeElement; return [[...document.querySelectorAll('a,summary,.scroll')].filter(e =>
    e.checkVisibility()).indexOf(e), e.tagName, getComputedStyle(e).outlineStyle !== 'none']; })()"""


class Browser:
    def __init__(self, program, folder):
        commands, self.to = os.pipe()
        self.at, answers = os.pipe()

        def descriptors():  # 3: commands, 4: answers
            ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands, answers)]
            for i, end in enumerate(ends):
                os.dup2(end, 3 + i)

        self.process = subprocess.Popen(
            ["timeout", "-k", "2", str(PATIENCE), program, "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + folder, "about:blank"], pass_fds=(3, 4), preexec_fn=descriptors, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.number, self.left, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")

    def read(self):
        while b"\0" not in self.left:
            got = os.read(self.at, 1 << 20)
            if not got:
                sys.exit("the browser ended, or was slow")
            self.left += got
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, address):
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"a check failed: {result['exceptionDetails']}")
        return result["result"]["value"]

    def press(self, key, code):
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)


def event_faults(events, address):
    for event in events:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            yield "a script failed: " + parameters["exceptionDetails"]["text"]
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            yield "a word on the console"
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            yield "in the log: " + parameters["entry"]["text"]
        elif event.get("method") == "Network.requestWillBeSent" and parameters["request"]["url"].split("#")[0] != address:
            yield "a request for " + parameters["request"]["url"]


def keyboard_faults(browser):
    """Tab goes to each stop in order and shows it; Enter opens and closes what a summary hides."""
    browser.value("document.activeElement.blur(), scrollTo(0, 0), 1")
    stops, opened = browser.value(STOPS), False
    for stop in range(min(stops, 60)):
        browser.press("Tab", 9)
        at, tag, seen = browser.value(FOCUS)
        if at != stop:
            yield f"key Tab comes to {tag} {at}, not to stop {stop} of {stops}"
            return
        if not seen:
            yield f"the focus is not seen at {tag} {at}"
        if tag == "SUMMARY" and not opened:
            browser.press("Enter", 13)
            opened = browser.value("document.activeElement.parentElement.open")
            if not opened:
                yield "key Enter does not open a summary"
            browser.press("Enter", 13)
            if browser.value("document.activeElement.parentElement.open"):
                yield "key Enter does not close a summary"
    if not opened:
        yield "no summary was opened"


def picture_faults(browser, path, width):
    image = base64.b64decode(browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
    path.write_bytes(image)
    if image[:8] != b"\x89PNG\r\n\x1a\n" or struct.unpack(">I", image[16:20])[0] != width or len(image) < 10000:
        yield f"{path.name} is no picture of a page"


def page_faults(browser, folder, page):
    address = pathlib.Path(page).resolve().as_uri()
    for width in WIDTHS:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        for scheme in "light", "dark":
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.open(address)
            here = f"{pathlib.Path(page).name}, {width}, {scheme}: "
            faults = list(browser.value(LOOK.replace("WIDTH", str(width))))
            faults += picture_faults(browser, folder / f"{pathlib.Path(page).stem}-{width}-{scheme}.png", width)
            if scheme == "light":
                faults += keyboard_faults(browser)
            yield from (here + fault for fault in faults + list(event_faults(browser.events, address)))


def main():
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(sys.argv[1], profile)
        wrong = [fault for page in sys.argv[3:] for fault in page_faults(browser, pathlib.Path(sys.argv[2]), page)]
        browser.session = None
        os.write(browser.to, b'{"id": 0, "method": "Browser.close"}\0')
        browser.process.wait()
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


main()
