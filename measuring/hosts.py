"""Two hosts on one machine: network namespaces, joined by a cable of a given speed. Needs root.

    with hosts("100mbit") as pair:
        subprocess.run([*pair.mpiexec(4), "manyclass", "train", ...], env=pair.environment())

mpiexec runs on the first host and reaches the second through a launcher that stands in for ssh.
The hosts share files, cores and memory, but no network, so what their ranks say goes through the
cable: MPICH has to be set to TCP, or it finds the common memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MPIEXEC = Path(sys.executable).with_name("mpiexec")
CABLE = "net0"  # the interface's name on both hosts
ADDRESSES = ("10.213.7.1", "10.213.7.2")
PREFIX = "manyclass"
PATIENCE = 10.0  # seconds
# Called as: launcher [options] address command...
LAUNCHER = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case $1 in {first}) host={a};; *) host={b};; esac
shift
exec ip netns exec $host /bin/sh -c "$*"
"""


@dataclass(frozen=True, slots=True)
class Hosts:
    """Two hosts, and how to start ranks on them.

    Attributes
    ----------
    names : tuple of str
        Their namespaces.
    launcher : Path
        What mpiexec calls to start something on a host.
    """

    names: tuple[str, str]
    launcher: Path

    def mpiexec(self, n_ranks: int) -> list[str]:
        """Return the command that starts ranks, half of them on each host, but for theirs."""
        return [
            *("ip", "netns", "exec", self.names[0], str(MPIEXEC)),
            *("-launcher", "ssh", "-launcher-exec", str(self.launcher)),
            *("-hosts", ",".join(ADDRESSES), "-localhost", ADDRESSES[0]),
            *("-ppn", str(-(-n_ranks // 2)), "-n", str(n_ranks)),
        ]

    def environment(self) -> dict[str, str]:
        """Return this process's environment, and what makes MPICH use the cable."""
        return {
            **os.environ,
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": CABLE,
        }

    def bytes_sent(self) -> int:
        """Return what has gone from the first host through the cable."""
        path = f"/sys/class/net/{CABLE}/statistics/tx_bytes"
        return int(_run("ip", "netns", "exec", self.names[0], "cat", path))


def unusable() -> str:
    """Say why there can be no hosts here; an empty string if there can."""
    if not (shutil.which("ip") and shutil.which("tc")):
        return "needs ip and tc (iproute2)"
    name = f"{PREFIX}-try-{os.getpid()}"
    try:
        _run("ip", "netns", "add", name)
        _run("ip", "netns", "exec", name, "true")
        _run("ip", "netns", "del", name)
    except OSError as error:
        return f"needs the right to make network namespaces: {error}"
    return ""


@contextlib.contextmanager
def hosts(rate: str = "1gbit") -> Iterator[Hosts]:
    """Make two hosts, and take them down again with all that runs on them.

    Parameters
    ----------
    rate : str, default="1gbit"
        Of the cable, each way, as ``tc`` takes it.

    Yields
    ------
    Hosts

    Raises
    ------
    OSError
        If a command of the system fails.
    """
    take_down_orphans()
    a, b = (f"{PREFIX}-{os.getpid()}-{host}" for host in "ab")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for name in (a, b):
            _run("ip", "netns", "add", name)
            stack.callback(_take_down, name)
        cable = ("type", "veth", "peer", "name", CABLE, "netns", b)
        _run("ip", "link", "add", CABLE, "netns", a, *cable)
        for name, address in zip((a, b), ADDRESSES, strict=True):
            _plug_in(name, address, rate)
        for name in (a, b):
            _wait_for_cable(name)
        launcher = Path(folder) / "launcher"
        launcher.write_text(LAUNCHER.format(first=ADDRESSES[0], a=a, b=b))
        launcher.chmod(0o755)
        yield Hosts((a, b), launcher)


def _plug_in(name: str, address: str, rate: str) -> None:
    _run("ip", "-n", name, "addr", "add", f"{address}/30", "dev", CABLE)
    for interface in ("lo", CABLE):
        _run("ip", "-n", name, "link", "set", interface, "up")
    tc = ("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", CABLE, "root")
    _run(*tc, "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")


def _wait_for_cable(name: str) -> None:
    """Wait until the system has noticed that both ends are plugged in; MPICH asks for that."""
    state = ("ip", "netns", "exec", name, "cat", f"/sys/class/net/{CABLE}/operstate")
    end = time.monotonic() + PATIENCE
    while _run(*state).strip() != "up":
        if time.monotonic() > end:
            raise OSError(f"{name}: the cable does not come up")
        time.sleep(0.05)


def _take_down(name: str) -> None:
    """Remove a host; what still runs there is this run's own."""
    with contextlib.suppress(OSError):
        for pid in _run("ip", "netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    with contextlib.suppress(OSError):
        _run("ip", "netns", "del", name)


def names() -> list[str]:
    """List all hosts that there are."""
    return re.findall(rf"^{PREFIX}-\d+-[ab]\b", _run("ip", "netns", "list"), re.MULTILINE)


def take_down_orphans() -> None:
    """Remove the hosts of runs that were killed."""
    for name in names():
        if not Path(f"/proc/{name.split('-')[1]}").exists():
            _take_down(name)


def _run(*command: str) -> str:
    """Run a command of the system; return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
