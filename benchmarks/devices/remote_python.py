"""A Python elsewhere, under an emulator or behind ssh, that measures as this one does.

It is sent this package and the models as one tar through its standard input, unpacks them into a
temporary folder, measures, and leaves nothing behind; it ends, too, when this end goes away.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tfdistil.benchmarks.devices.device import Screen
from tfdistil.errors import DeviceError

BOOT = """\
import sys
if sys.version_info < (3, 10):
    sys.exit("Python 3.10 or later is needed there, and this is " + sys.version.split()[0])
import tarfile, tempfile
with tempfile.TemporaryDirectory(prefix="tfdistil-") as folder:
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as tar:
        tar.extractall(folder)
    sys.path.insert(0, folder)
    from tfdistil.benchmarks.devices.there import main
    status = main(folder)
sys.exit(status)
"""
"""What that Python is started with."""

PACKAGES = ("tfdistil", "tfdistil.benchmarks", "tfdistil.exporting")
"""What it is sent; an editable install has them in different places."""


class RemotePython:
    """A command that runs Python code elsewhere.

    Args:
        command: starts it with the code `BOOT`.
        place: what it is called in errors.
        environment: variables of the command; None: those of this process.
    """

    def __init__(
        self, command: Sequence[str], place: str, environment: Mapping[str, str] | None = None
    ):
        self.command, self.place = tuple(command), place
        self.environment = None if environment is None else dict(environment)

    def work(
        self, job: Mapping[str, Any], files: Mapping[str, Path], screen: Screen
    ) -> dict[str, Any]:
        """See `tfdistil.benchmarks.devices.there.work`.

        Args:
            job: what it takes, without the files.
            files: the models by name.
            screen: told what is going on there.

        Raises:
            DeviceError: it cannot be started, says what is wrong, or ends without a result.
        """
        places = {name: f"models/{n}/{path.name}" for n, (name, path) in enumerate(files.items())}
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=self.environment,
                )
            except OSError as error:
                raise DeviceError(f"{self.place}: {self.command[0]}: {error.strerror}") from error
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                with suppress(BrokenPipeError):  # it has ended; why, it has said
                    _send(process.stdin, {**job, "files": places}, places, files)
                for key, value in _said(process.stdout):
                    if key == "result":
                        return value
                    if key == "error":
                        raise DeviceError(f"{self.place}: {value}")
                    screen(value)
            finally:
                _end(process)
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else f"it ended with status {process.returncode}"
        raise DeviceError(f"{self.place}: no result: {last}")


def _said(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    for line in stream:
        with suppress(ValueError):  # a greeting of the machine's shell
            ((key, value),) = json.loads(line).items()
            yield key, value


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its standard input, which ends it if it is still at work, and wait."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.stdout.close()
    try:
        process.wait(20)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def _send(
    stream: IO[bytes],
    job: Mapping[str, Any],
    places: Mapping[str, str],
    files: Mapping[str, Path],
) -> None:
    with tarfile.open(fileobj=stream, mode="w|") as tar:
        for package in PACKAGES:
            (top,) = import_module(package).__path__
            for module in sorted(Path(top).rglob("*.py")):
                place = Path(*package.split(".")) / module.relative_to(top)
                tar.add(module, place.as_posix())
        for name, path in files.items():
            tar.add(path.resolve(), places[name])
        data = json.dumps(job).encode()
        entry = tarfile.TarInfo("job.json")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    stream.flush()
