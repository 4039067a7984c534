"""Freed memory is kept, unless somebody else has set up the allocator."""

import os
import platform
import subprocess
import sys

import pytest

from tfdistil.allocator import SWITCH

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")

FAULTS = """
import resource
from tfdistil.allocator import keep_freed_memory

print(keep_freed_memory())
for _ in range(3):
    block = None
    block = b"x" * (100 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    block = None
    block = b"x" * (100 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _child(**variables: str) -> tuple[bool, int]:
    """Whether the allocator was set up, and the page faults of ten blocks of 100 MB."""
    ours = {k: v for k, v in os.environ.items() if k != SWITCH and "MALLOC" not in k}
    done = subprocess.run(
        [sys.executable, "-c", FAULTS],
        env={**ours, **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    done_setting, faults = done.stdout.split()
    return done_setting == "True", int(faults)


def test_memory_of_the_last_step_is_there_for_the_next():
    by_default, faults_by_default = _child(**{SWITCH: "system"})
    ours, faults = _child()
    assert (by_default, ours) == (False, True)
    assert faults_by_default > 400  # even where a fault brings two megabytes
    assert faults < faults_by_default / 10


@pytest.mark.parametrize(
    "variables",
    [{"MALLOC_ARENA_MAX": "2"}, {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=3"}],
    ids=["variables", "tunables"],
)
def test_what_the_user_has_set_stays(variables):
    assert not _child(**variables)[0]
