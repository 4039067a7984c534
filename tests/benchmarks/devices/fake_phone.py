"""A phone as adb sees it: a server that speaks the device's side of adb's protocol over TCP.

The real adb connects to it. It has files, an installer, and an app whose benchmark mode is played:
the models that arrived are measured by this machine's interpreter.
"""

from __future__ import annotations

import json
import shlex
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tfdistil.benchmarks.latency import Protocol, measure

APP = "org.tfdistil.demo"
INSIDE = f"/data/data/{APP}/"
HEADER = struct.Struct("<6I")
FIRST_PACKET = 0x01000001  # the version that computes no checksums
LARGEST = 1 << 18
BANNER = b"device::ro.product.name=fake;ro.product.model=Fake;features=shell_v2,cmd"
STDOUT, STDERR, EXIT = 1, 2, 3


def _code(name: bytes) -> int:
    return struct.unpack("<I", name)[0]


class FakePhone:
    """Listens on a free port until `close`.

    Args:
        folder: for what the app measures.
        installed: whether the app is there already.
        trusts: whether it accepts computers; else it never answers the question.
        answers: whether it says anything at all.

    Attributes:
        files: path to content.
        services: all that adb asked for, in order.
        play: what the app does when it is started: the extras to the content of its result, None
            where it dies.
        heard: called when adb has asked for something, before it is done.
    """

    def __init__(
        self, folder: Path, installed: bool = False, trusts: bool = True, answers: bool = True
    ):
        self.folder, self.trusts, self.answers = folder, trusts, answers
        self.installed, self.running, self.debuggable = installed, False, True
        self.files: dict[str, bytes] = {}
        self.services: list[str] = []
        self.play: Callable[[dict[str, str]], str | None] = self.benchmark
        self.heard: Callable[[], None] = lambda: None
        self._connections: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Hang up, as one that is unplugged."""
        self._server.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # also where a thread waits for more
            connection.close()

    def benchmark(self, extras: dict[str, str]) -> str | None:
        """The app's result: the real measurement, with what the app has no figures for left out."""
        paths = {}
        for name in extras["models"].split(","):
            path = self.folder / name
            path.write_bytes(self.files[f"{INSIDE}files/benchmark/{name}"])
            paths[path.stem] = path
        counts = {name: int(extras[name]) for name in ("queries", "batches", "rounds", "threads")}
        protocol = Protocol(**counts, warm_up=int(extras["warmup"]))
        found = measure(paths, protocol, memory=False).to_json()
        found["environment"] = {"cpu": "Fake 1", "tensorflow-lite": "2.17.0"}
        return json.dumps(found)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=_Transport(self, connection).serve, daemon=True).start()

    def shell(self, command: str) -> tuple[int, str]:
        """Run a command: its status and what it writes."""
        words = shlex.split(command)
        base = "/"
        if words[0] == "run-as":
            if not (self.installed and self.debuggable and words[1] == APP):
                return 1, f"run-as: package not debuggable: {words[1]}\n"
            words, base = words[2:], INSIDE
        program, *given = words

        def place(name: str) -> str:
            return name if name.startswith("/") else base + name

        if program in ("true", "mkdir"):
            return 0, ""
        if program == "pm":
            return (0, "package:/data/app/base.apk\n") if self.installed else (1, "")
        if program == "pidof":
            return (0, "4321\n") if self.running else (1, "")
        if program == "cp":
            self.files[place(given[1])] = self.files[place(given[0])]
            return 0, ""
        if program == "test":
            return int(place(given[1]) not in self.files), ""
        if program == "rm":
            for name in map(place, given[1:]):
                for path in [p for p in self.files if p == name or p.startswith(f"{name}/")]:
                    del self.files[path]
            return 0, ""
        if program == "cat":
            return 0, self.files[place(given[0])].decode()
        if program == "am" and given[0] == "force-stop":
            self.running = False
            return 0, ""
        if program == "am":
            return 0, self._start(given)
        if program == "cmd" and given[1] == "uninstall":
            self.installed = False
            for path in [p for p in self.files if p.startswith(INSIDE)]:
                del self.files[path]
            return 0, "Success\n"
        return 127, f"/system/bin/sh: {program}: inaccessible or not found\n"

    def _start(self, given: list[str]) -> str:
        if f"{APP}/.BenchmarkActivity" not in given or not self.installed:
            return "Error: Activity class does not exist.\n"
        extras = {
            given[n + 1]: given[n + 2] for n, word in enumerate(given) if word in ("--es", "--ei")
        }
        self.running = True

        def run() -> None:
            result = self.play(extras)
            if result is None:
                self.running = False
            else:
                self.files[f"{INSIDE}files/benchmark/{extras['id']}.json"] = result.encode()

        threading.Thread(target=run, daemon=True).start()
        return "Starting: Intent\nStatus: ok\n"


class _Transport:
    """One connection of adb, with its streams."""

    def __init__(self, phone: FakePhone, connection: socket.socket):
        self.phone, self.connection = phone, connection
        self.streams: dict[int, _Stream] = {}
        self.lock = threading.Lock()

    def serve(self) -> None:
        """Read packets until adb hangs up."""
        while header := self._exactly(HEADER.size):
            command, first, _, size, _, _ = HEADER.unpack(header)
            data = self._exactly(size) if size else b""
            name = struct.pack("<I", command)
            if name == b"CNXN" and self.phone.answers:
                if self.phone.trusts:
                    self.send(b"CNXN", FIRST_PACKET, LARGEST, BANNER)
                else:
                    self.send(b"AUTH", 1, 0, bytes(20))
            elif name == b"AUTH" and first == 2:  # a signature; of nobody we know
                self.send(b"AUTH", 1, 0, bytes(20))
            elif name == b"OPEN":
                stream = self.streams[first] = _Stream(self, first)
                service = data.rstrip(b"\0").decode()
                self.phone.services.append(service)
                self.phone.heard()
                threading.Thread(target=stream.serve, args=[service], daemon=True).start()
            elif name == b"OKAY" and first in self.streams:
                self.streams[first].ready.release()
            elif name == b"WRTE" and first in self.streams:
                self.streams[first].feed(data)
                self.send(b"OKAY", first, first)
            elif name == b"CLSE" and first in self.streams:
                self.streams.pop(first).feed(b"")

    def send(self, name: bytes, first: int, second: int, data: bytes = b"") -> None:
        """A packet to adb. Streams have adb's number on both sides."""
        code = _code(name)
        header = HEADER.pack(code, first, second, len(data), 0, code ^ 0xFFFFFFFF)
        with self.lock, suppress(OSError):  # who is unplugged says nothing more
            self.connection.sendall(header + data)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                part = self.connection.recv(size - len(data))
            except OSError:
                return b""
            if not part:
                return b""
            data += part
        return data


class _Stream:
    """One service that adb opened."""

    def __init__(self, transport: _Transport, number: int):
        self.transport, self.number = transport, number
        self.ready = threading.Semaphore(0)
        self.arrived = threading.Condition()
        self.buffer, self.ended = b"", False

    def feed(self, data: bytes) -> None:
        """What adb wrote; nothing: it closed the stream."""
        with self.arrived:
            self.buffer += data
            self.ended = self.ended or not data
            self.arrived.notify()

    def read(self, size: int) -> bytes:
        """Exactly so many bytes, or fewer at the end."""
        with self.arrived:
            self.arrived.wait_for(lambda: len(self.buffer) >= size or self.ended)
            data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def write(self, data: bytes) -> None:
        """Send, and wait until adb has taken it."""
        self.transport.send(b"WRTE", self.number, self.number, data)
        self.ready.acquire(timeout=20)

    def serve(self, service: str) -> None:
        """Do what was asked for, then close."""
        self.transport.send(b"OKAY", self.number, self.number)
        kind, _, command = service.partition(":")
        if kind.startswith("shell"):
            status, text = self.transport.phone.shell(command)
            if text:
                self.write(
                    struct.pack("<BI", STDERR if status else STDOUT, len(text)) + text.encode()
                )
            self.write(struct.pack("<BIB", EXIT, 1, status))
        elif kind == "exec" and "install" in command:
            self._install(command)
        elif kind == "exec":
            self.write(self.transport.phone.shell(command)[1].encode())
        elif kind == "sync":
            self._sync()
        self.transport.send(b"CLSE", self.number, self.number)

    def _install(self, command: str) -> None:
        words = shlex.split(command)
        content = self.read(int(words[words.index("-S") + 1]))
        if content.startswith(b"PK"):
            self.transport.phone.installed = True
            self.write(b"Success\n")
        else:
            self.write(b"Failure [INSTALL_PARSE_FAILED_NOT_APK]\n")

    def _sync(self) -> None:
        """The file transfer inside a stream."""
        while len(head := self.read(8)) == 8:
            name, size = head[:4], struct.unpack("<I", head[4:])[0]
            if name == b"QUIT":
                return
            path = self.read(size).decode()
            if name == b"STAT":
                self.write(b"STAT" + bytes(12))
            elif name == b"SEND":
                content = b""
                while (part := self.read(8))[:4] == b"DATA":
                    content += self.read(struct.unpack("<I", part[4:])[0])
                self.transport.phone.files[path.rpartition(",")[0]] = content
                self.write(b"OKAY" + bytes(4))
