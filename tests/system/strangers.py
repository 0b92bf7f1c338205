"""strangers.py - others than a job's ranks at its ports, in all ways that are none of cctest's or only begin like it.

usage: strangers.py ADDRESS PORT COUNT SECONDS: connects so often at once, says "there" and how often it got through when
all have tried, and stays for so long.
"""
import os
import pathlib
import re
import socket
import struct
import sys
import time

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "net" / "handshake.c"
PROTOCOL = int(re.search(r"^#define PROTOCOL +(\d+)$", SOURCE.read_text(encoding="utf-8"), re.M)[1])
PREFIX = b"cctest" + struct.pack("<H", PROTOCOL)


def opening(size, said):
    """The first message of who connects, with a hello of `size` bytes of which `said` are there."""
    return PREFIX + os.urandom(32) + b"P" + struct.pack("<H", size) + os.urandom(said)


KINDS = {
    "garbage": lambda: os.urandom(3000),
    "long": lambda: b"\xff" * 200000,
    "http": lambda: b"GET / HTTP/1.1\r\n\r\n",
    "silent": lambda: b"",
    "preamble, then nothing": lambda: PREFIX,
    "half of the magic": lambda: PREFIX[:3],
    "another protocol": lambda: PREFIX[:6] + b"\x63\x00" + os.urandom(100),
    "a hello without an end": lambda: opening(65535, 100000),
    "the longest hello that is let in, half of it": lambda: opening(1024, 512),
    "a proof by guess": lambda: opening(300, 300) + os.urandom(32),
    "an opening, then a no": lambda: PREFIX + os.urandom(32) + b"N",
    "byte by byte": lambda: b"",
}


def send(stranger, junk):
    try:
        stranger.setblocking(False)
        stranger.send(junk)
    except OSError:
        pass


def main(address, port, count, seconds):
    there, connected = [], 0
    for i in range(count):
        kind = list(KINDS)[i % len(KINDS)]
        stranger = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        stranger.settimeout(5)
        try:
            stranger.connect((address, port))
            connected += 1
            send(stranger, KINDS[kind]())
        except OSError:
            pass
        there.append((kind, stranger))
    print("there", connected, flush=True)
    end, slow, at = time.monotonic() + seconds, opening(300, 300), 0
    while time.monotonic() <= end:
        for kind, stranger in there:
            if kind == "byte by byte":
                send(stranger, slow[at % len(slow):][:1])
        at += 1
        time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
