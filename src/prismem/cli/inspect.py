"""`prismem inspect`: what stands in a pool, for people and as JSON; read-only, also on a pool in use."""

import json
from pathlib import Path
from typing import Any

from prismem.errors import MisuseError
from prismem.lib.inspect import LISTS, inspect
from prismem.lib.pool import PoolError
from prismem.tb.runner.build import build_software

ROWS_MAX = 20
QUIET_LOCK = {"state": "free", "waiters": 0, "dead_nodes": 0}


def show(path: Path, *, as_json: bool) -> str:
    """Text or JSON of a pool. Raises MisuseError when it is none, or one of another version or damaged."""
    build_software()
    try:
        facts = inspect(path)
    except PoolError as error:
        raise MisuseError(f"{path}: {error}") from None
    return json.dumps(facts, indent=1) if as_json else _text(facts)


def _text(facts: dict[str, Any]) -> str:
    lines = []
    for section in ("superblock", "allocator", "index"):
        lines += [section, *(f"  {name:18} {_value(value)}" for name, value in facts[section].items())]
    for section in LISTS.values():
        things = [thing for thing in facts[section] if section != "locks" or _is_busy(thing)]
        quiet = len(facts[section]) - len(things)
        lines.append(f"{section}: {len(facts[section])}" + (f", {quiet} of them free" if quiet else ""))
        lines += ["  " + ", ".join(f"{name} {_value(value)}" for name, value in t.items()) for t in things[:ROWS_MAX]]
        if len(things) > ROWS_MAX:
            lines.append(f"  ... and {len(things) - ROWS_MAX} more; --json shows all")
    return "\n".join(lines)


def _is_busy(lock: dict[str, Any]) -> bool:
    return any(lock[name] != value for name, value in QUIET_LOCK.items())


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"
