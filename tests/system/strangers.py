"""strangers.py - connections from outside a job: other protocols, or data that only begins like cctest's.

usage: strangers.py ADDRESS PORT COUNT SECONDS: opens COUNT connections, prints "there" and the number that succeeded,
and keeps them open.
"""
import os
import pathlib
import re
import socket
import struct
import sys
import time

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "base" / "net" / "handshake.c"
PROTOCOL = int(re.search(r"^#define PROTOCOL +(\d+)$", SOURCE.read_text(encoding="utf-8"), re.M)[1])
PREFIX = b"cctest" + struct.pack("<H", PROTOCOL)


def opening(size, sent):
    """The first message of a connection, with a join request of `size` bytes of which `sent` follow."""
    return PREFIX + os.urandom(32) + b"P" + struct.pack("<H", size) + os.urandom(sent)


KINDS = {
    "garbage": lambda: os.urandom(3000),
    "long": lambda: b"\xff" * 200000,
    "http": lambda: b"GET / HTTP/1.1\r\n\r\n",
    "silent": lambda: b"",
    "preamble, then nothing": lambda: PREFIX,
    "half of the magic": lambda: PREFIX[:3],
    "another protocol": lambda: PREFIX[:6] + b"\x63\x00" + os.urandom(100),
    "an endless join request": lambda: opening(65535, 100000),
    "half of the longest join request": lambda: opening(1024, 512),
    "a guessed proof": lambda: opening(300, 300) + os.urandom(32),
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
