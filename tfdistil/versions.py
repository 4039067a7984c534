"""Versions of installed packages, for what a result or a file was made with."""

from __future__ import annotations

from importlib import metadata


def versions_of(*packages: str) -> dict[str, str]:
    """Package to version, of those that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
