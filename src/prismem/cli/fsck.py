"""`prismem fsck`: what must not be in a pool that nobody uses, and its repair."""

import json
from dataclasses import asdict
from pathlib import Path

from prismem.errors import MisuseError
from prismem.lib.fsck import FsckResult, fsck
from prismem.lib.pool import PoolError
from prismem.tb.runner.build import build_software

LINES_MAX = 50


def check(path: Path, *, repair: bool, as_json: bool) -> tuple[str, bool]:
    """Text or JSON of the check, and whether the pool is clean. Raises MisuseError when it is no pool, or in use."""
    build_software()
    try:
        result = fsck(path, repair=repair)
    except PoolError as error:
        raise MisuseError(str(error)) from None
    return (json.dumps(asdict(result), indent=1) if as_json else _text(path, result)), result.clean


def _text(path: Path, result: FsckResult) -> str:
    lines = [f"{finding.kind}: {finding.text}" for finding in result.findings[:LINES_MAX]]
    if len(result.findings) > LINES_MAX:
        lines.append(f"... and {len(result.findings) - LINES_MAX} more")
    if result.repaired:
        lines.append(f"{path}: {result.repaired} repaired")
    lines.append(
        f"{path}: {result.errors} errors, {result.leaks} leaks; {result.resident} blocks resident, "
        f"{result.blocks_live} allocations, {result.chunks_used} chunks, {result.objects} objects"
    )
    return "\n".join(lines)
