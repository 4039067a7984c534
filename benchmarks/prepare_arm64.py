"""Make the emulated Arm Python that ``--device arm64`` runs in.

``python -m tfdistil.benchmarks.prepare_arm64`` fills the folder ``arm64`` of
`tfdistil.benchmarks.cache.cache_folder`: the emulator and an Arm Python from the system's own
Debian archive, whose signatures apt checks, and wheels of exactly these versions and checksums.
Nothing is installed, and no right of an administrator is needed.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tfdistil.benchmarks.devices.device import Screen
from tfdistil.benchmarks.devices.emulated_arm64 import (
    CPUINFO,
    EMULATOR,
    PYTHON,
    RUNTIMES,
    folder,
)
from tfdistil.console.failures import run_command
from tfdistil.errors import DeviceError

BESIDE = {
    "numpy-1.26.4": "7ab55401287bfec946ced39700c053796e7cc0e3acbef09993a9ad2adba6ca6e",
    "tokenizers-0.23.3": "ec82e80e65a862275b97c3d90b7a523df8d9519ee48aeb4e9625b2cc909274e0",
}
"""What each of them needs; tflite-runtime 2.14 knows no later NumPy."""

NEWEST_LIBC = 36
"""Of Debian 12, glibc 2.36: wheels for it and all before run."""


def prepare(screen: Screen) -> Path:
    """Make the emulation; one that is there is replaced.

    Returns:
        Its folder.

    Raises:
        DeviceError: apt, dpkg-deb or pip are missing or fail, or Debian's Python is another one.
    """
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    folder().parent.mkdir(parents=True, exist_ok=True)
    # A folder of its own beside the place: two that prepare at the same time do not meet.
    with tempfile.TemporaryDirectory(prefix=".arm64-", dir=folder().parent) as temporary:
        new = Path(temporary) / "machine"
        new.mkdir()
        screen("the emulator, from the Debian archive")
        (new / "emulator").mkdir()
        for package in _packages(Path(temporary), machine, ["qemu-user-static"]):
            _run(["dpkg-deb", "-x", str(package), str(new / "emulator")])
        (new / "emulator/usr/bin" / EMULATOR).rename(new / EMULATOR)
        shutil.rmtree(new / "emulator")
        screen("Python for Arm, from the Debian archive")
        wanted = [f"{PYTHON}-minimal", f"lib{PYTHON}-stdlib", "libstdc++6"]
        for package in _packages(Path(temporary), "arm64", wanted):
            _run(["dpkg-deb", "-x", str(package), str(new / "root")])
        (new / "root/proc").mkdir()
        (new / "root/proc/cpuinfo").write_text(CPUINFO, "utf-8")
        for runtime, checksum in RUNTIMES.items():
            screen(f"{runtime}, from the package index")
            _install({runtime: checksum, **BESIDE}, new / "runtimes" / runtime)
        shutil.rmtree(folder(), ignore_errors=True)
        new.rename(folder())
    return folder()


def _packages(folder: Path, architecture: str, names: Sequence[str]) -> list[Path]:
    """Debian packages and all they depend on, as if nothing were installed.

    Lists and files stay in a folder of ours; the sources and keys are those of the system.
    """
    own = folder / architecture
    for name in ("lists/partial", "cache/archives/partial"):
        (own / name).mkdir(parents=True)
    (own / "status").touch()
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "",  # a folder of ours is closed to apt's own user
        "Dir::State::Lists": own / "lists",
        "Dir::State::status": own / "status",
        "Dir::Cache": own / "cache",
        "Debug::NoLocking": "true",
        "APT::Update::Error-Mode": "any",  # without a network it would find no package, later
    }
    apt = ["apt-get", "-q", "-y", *(f"-o{name}={value}" for name, value in options.items())]
    _run([*apt, "update"])
    _run([*apt, "install", "--download-only", "--no-install-recommends", *names])
    return sorted((own / "cache/archives").glob("*.deb"))


def _install(wheels: dict[str, str], target: Path) -> None:
    """Unpack wheels for Arm, which have these checksums, into a folder."""
    lines = []
    for wheel, checksum in wheels.items():
        name, _, version = wheel.rpartition("-")
        lines.append(f"{name}=={version} --hash=sha256:{checksum}\n")
    target.mkdir(parents=True)
    requirements = target / "requirements.txt"
    requirements.write_text("".join(lines), "utf-8")
    libc = [f"--platform=manylinux_2_{minor}_aarch64" for minor in range(17, NEWEST_LIBC + 1)]
    _run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--only-binary=:all:", "--require-hashes", "--target", str(target)),
            *("--python-version", PYTHON.removeprefix("python"), "--implementation", "cp"),
            *(*libc, "--platform=manylinux2014_aarch64", "-r", str(requirements)),
        ]
    )


def _run(command: Sequence[str]) -> None:
    """Run a program that prepares something.

    Raises:
        DeviceError: it is missing or fails.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DeviceError(
            f"{command[0]}: {error.strerror}; the emulation is made from Debian's packages"
        ) from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        last = said[-1] if said else f"status {done.returncode}"
        raise DeviceError(f"{Path(command[0]).name} failed: {last}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command that makes it."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.prepare_arm64",
        description="Make an emulated Arm Python with the runtimes that phones carry: 100 MB from "
        "the Debian archive and the package index, into the cache folder (TFDISTIL_CACHE).",
    )
    parser.set_defaults(func=_prepare)
    return run_command(parser, arguments, "this")


def _prepare(arguments: argparse.Namespace) -> int:
    del arguments
    print(prepare(lambda line: print(line, file=sys.stderr, flush=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
