"""`prismem inspect`: what stands in a pool file, read through the native library.

Reading the counts takes a node id, the library's locks and a lock manager, so it is done on a copy: whoever uses the
pool at that moment is not disturbed.
"""

import ctypes
import json
import shutil
import tempfile
import threading
from pathlib import Path

from prismem.errors import MisuseError
from prismem.lib.pool import Pool, PoolError
from prismem.tb.runner.build import build_software


def show(path: Path, *, as_json: bool) -> str:
    """Text or JSON of a pool file. Raises MisuseError when it is none, or one of another version."""
    if not path.is_file():
        raise MisuseError(f"{path}: no such file; name a pool file (copy a device into one first)")
    build_software()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "pool"
        shutil.copyfile(path, copy)
        try:
            with Pool(copy) as pool:
                facts = {"block_bytes": pool.block_bytes} | _counts(pool)
        except PoolError as error:
            raise MisuseError(f"{path}: {str(error).replace(str(copy), str(path))}") from None
    if as_json:
        return json.dumps(facts, indent=1)
    return "\n".join(f"{name:34} {value:>14,}" for name, value in facts.items())


def _counts(pool: Pool) -> dict[str, int]:
    stop = ctypes.c_int(0)
    manager = threading.Thread(target=pool.manager_run, args=(stop,), daemon=True)
    manager.start()
    try:
        index = {f"index.{name}": value for name, value in pool.index_info().items()}
        return index | {f"allocator.{name}": value for name, value in pool.alloc_info().items()}
    finally:
        stop.value = 1
        manager.join()
