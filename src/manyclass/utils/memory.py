"""Available memory of the machine and the process."""

from __future__ import annotations

import os
import resource
from pathlib import Path

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available_memory(sharing: int = 1) -> int:
    """Return the bytes that the machine has, or that this process may still take if it is limited.

    Limits are those of containers (cgroups), which so many processes share evenly, and of address
    space (``ulimit -v``), which each has to itself.
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text()))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    limits = [limit // sharing for limit in limits]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(max(0, soft - _address_space()))
    return min(limits)


def _address_space() -> int:
    """Bytes of address space that this process has taken."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
