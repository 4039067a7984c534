"""Data that was edited after a run had read it: found by the hash of every file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tfdistil.errors import RunError
from tfdistil.files import relative_name, sha256
from tfdistil.runs.folder import RunFolder

LABELLED = ("train", "dev", "test")
"""The sets that scores and exports are made of."""


def file_hashes(files: Mapping[str, Sequence[Path]], base: Path) -> dict[str, dict[str, str]]:
    """Set to file to SHA-256, as `refuse_changed_data` wants them in the manifest's ``sources``.

    Args:
        files: what was read, by set (`Corpus.files`).
        base: folder that files are named relative to where they can be, so that recipe and data
            may move together.
    """
    return {
        name: {relative_name(path, base): sha256(path) for path in of} for name, of in files.items()
    }


def refuse_changed_data(
    folder: RunFolder,
    base: Path,
    sets: Collection[str] | None = None,
    digest: Callable[[Path], str] = sha256,
) -> None:
    """Check that a run's data is what it was when the run began; nothing is checked before that.

    Args:
        folder: of the run.
        base: folder that the files of its recipe are relative to.
        sets: those whose files matter; None: all.
        digest: the hash of a file; a cached one serves many runs of the same data.

    Raises:
        RunError: files that are gone or have another content, each with its set, and what to do.
    """
    if not folder.is_started():
        return
    changed = []
    for name, files in folder.manifest.get("sources", {}).items():
        for file, before in files.items() if sets is None or name in sets else ():
            # Recipe and data may have moved together, or the same files be named from elsewhere.
            places = [base / file, Path(folder.manifest.get("base", base)) / file]
            path = next((place for place in places if place.is_file()), places[0])
            if not path.is_file():
                changed.append(f"  {path} ({name}) is gone")
            elif digest(path) != before:
                changed.append(f"  {path} ({name}) has other content")
    if changed:
        listed = "\n".join(changed)
        raise RunError(
            f"{folder.path}: its data has changed since the run read it:\n{listed}\n"
            "What was trained and measured here is of the old data. Put the old files back, or run "
            f"the recipe into another --out; `tfdistil evaluate {folder.path} --data FILE` scores "
            "other data with this run's models"
        )
