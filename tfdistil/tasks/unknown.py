"""Labels of examples that a task does not have: no model of the task can give them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tfdistil.data.example import Example
from tfdistil.data.schemes import from_iob2, scheme_of
from tfdistil.tasks.base import Output, Task
from tfdistil.tasks.iob2 import spans

Unknown = dict[str, dict[str, int]]
"""Output to label (of a span: its type) to how many spans or examples have it."""

_LISTED = 20


def unknown_labels(task: Task, examples: Iterable[Example]) -> Unknown:
    """The labels of examples that a task does not have, most frequent first.

    A span counts as a whole: its type is unknown if any of its tags is, because no legal path has
    all of them. Every such span and label is a miss in every score.
    """
    examples = list(examples)
    found = {output.name: Counter(_unknown(output, examples)) for output in task.outputs}
    return {
        name: dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        for name, counts in found.items()
        if counts
    }


def _unknown(output: Output, examples: Iterable[Example]) -> Iterator[str]:
    known = frozenset(output.labels)
    scheme = scheme_of(output.labels)
    for example in examples:
        if output.level == "sequence":
            if example.label is not None and example.label not in known:
                yield example.label
        elif example.tags is not None:
            tags = from_iob2(example.tags, scheme)
            for span in [] if known.issuperset(tags) else spans(example.tags):
                if not known.issuperset(tags[span.start : span.end]):
                    yield span.label


def describe_unknown(found: Mapping[str, Mapping[str, int]]) -> str:
    """One line: ``intent day_name (2), slots period (1)``; long lists are cut."""
    names = [f"{name} {label} ({n})" for name, of in found.items() for label, n in of.items()]
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
