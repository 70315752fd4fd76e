"""No child outlives the command that started it, however that ends: Ctrl-C, SIGTERM, or SIGKILL.

A child that runs Python asks the kernel to be killed with its parent (`die_with_parent`). Tools that know nothing of
that (make, compilers) are ended, with all that they started, when the command is told to stop (`stop_on_signals`).
"""

import ctypes
import multiprocessing
import os
import signal
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from types import FrameType

PARENT_VARIABLE = "PRISMEM_PARENT"
_PR_SET_PDEATHSIG = 1


class Stopped(KeyboardInterrupt):
    """The command was told to stop; `number` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def parent_environment() -> dict[str, str]:
    """What a child needs to know to die with this process."""
    return {PARENT_VARIABLE: str(os.getpid())}


def die_with_parent() -> None:
    """In a child: be killed when the parent ends, and end at once if it has ended already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if str(os.getppid()) != os.environ.get(PARENT_VARIABLE, str(os.getppid())):
        os._exit(1)


def _start_worker() -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def worker_pool(jobs: int) -> Executor:
    """Processes for calls that run simulations; they die with this one."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, parents first."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        children.setdefault(int(after_name[1]), []).append(int(stat.parent.name))
    found = list(children.get(pid, []))
    for child in found:
        found += children.get(child, [])
    return found


def stop_on_signals() -> None:
    """From now on SIGINT and SIGTERM end all descendants and raise Stopped."""

    def stop(number: int, frame: FrameType | None) -> None:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        raise Stopped(number)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
