"""Files that other processes read while they are written: replaced whole, and locked across processes."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prismem.errors import PrismemError
from prismem.paths import BUILD, relative


def write_atomic(path: Path, text: str) -> None:
    """Write `text` so that a reader sees the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_build_folder(folder: Path = BUILD) -> None:
    """Raise PrismemError unless files can be written below `folder`."""
    name = relative(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cure = "remove it" if folder.is_symlink() or folder.exists() else "make the folder above it writable"
        raise PrismemError(f"{name}: no folder can be made there: {error.strerror}; {cure}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PrismemError(f"{name}: not writable; make it so ('chmod u+rwx {name}'), or move it away")


def link_atomic(link: Path, target: str) -> None:
    """Let symbolic `link` point to `target`, whatever it was before."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock file `path`; the system releases it when the process ends in any way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
