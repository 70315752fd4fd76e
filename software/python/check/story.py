"""The story of a fault in at most a screen: who wrote what, which cache held what, what was missing and where."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from prismem.lib.check.diagnosis import Diagnosis
from prismem.lib.check.log import Fault
from prismem.lib.check.trace import CALLS, COMMIT_OF_CLWB, NOTHING, OBJECTS, Event, Trace

STEPS_MAX = 12
"""Steps of a story; the whole interleaving is on the page."""
WORD_BYTES = 8
OWN_CHECKS = ("thread", "crash", "check")
PRINTED_MAX, PRINTED_WIDTH = 4, 120
"""Lines of the program's output in a story, and characters of each."""


def action(event: Event) -> str:
    """What happened, as a clause whose subject is the host (or its cache)."""
    line = f"line {event.line}"
    value = f"0x{event.value:x}" if event.value > 9 else str(event.value)
    amount = value if event.bytes <= WORD_BYTES else f"{event.bytes} bytes"
    texts = {
        "load": f"loads {amount} from {line}",
        "store": f"stores {amount} to {line}",
        "atomic-load": f"loads {amount} from {line} (atomic)",
        "atomic-store": f"stores {amount} to {line} (atomic)",
        "atomic-update": f"updates {line} to {amount} (atomic)",
        "stream": f"streams {event.bytes} bytes to {line}",
        "sfence": "SFENCE",
        "mfence": "MFENCE",
        "commit": f"{_committed(event)} of {line} takes effect",
        "fill": f"cache takes {line} from the device",
        "prefetch": f"cache prefetches {line} by itself",
        "evict": f"cache evicts {line} by itself",
        "write-back": f"cache writes {line} to the device" + ("" if event.cause else " (clean)"),
        "drop": f"copy of {line} is dropped",
        "acquire": f"has seen the release in {line}",
        "dma": f"DMA engine moves {line}",
        "end": "thread ends",
    }
    if event.event in ("invoke", "respond"):
        return _operation(event)
    return texts.get(event.event, f"{event.event.upper()} of {line}")


def _operation(event: Event) -> str:
    number = "nothing" if event.value == NOTHING else str(event.value - (event.value >> 63 << 64))
    name = f"{OBJECTS[event.cause >> 8]} {event.bytes}: {CALLS[event.cause & 0xFF]}"
    return f"{name}({number}) begins" if event.event == "invoke" else f"{name} answers {number}"


def _committed(event: Event) -> str:
    names = {0: "CLFLUSH", 1: "CLFLUSHOPT", COMMIT_OF_CLWB: "CLWB", 4: "streaming store"}
    return names.get(event.cause, "flush")


def steps(trace: Trace, diagnosis: Diagnosis) -> list[Event]:
    """The events of the story, at most STEPS_MAX: those that the diagnosis names, and what caches did by themselves."""
    numbers = set(diagnosis.shown)
    lines = {trace.events[n].line for n in numbers}
    own_account = [e.n for e in trace.events if e.event in ("prefetch", "evict") and e.line in lines]
    numbers.update(own_account[-(STEPS_MAX - min(len(numbers), STEPS_MAX)) or len(trace.events) :])
    return [trace.events[n] for n in sorted(numbers)][-STEPS_MAX:]


@functools.lru_cache(maxsize=64)
def _lines_of(path: Path, _changed_ns: int) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def source_text(place: str, sources: Sequence[Path]) -> str:
    """The text of `file:line` in one of the sources or a header beside them; empty if it cannot be told."""
    name, _, number = place.partition(":")
    folders = {source.resolve().parent for source in sources}
    for candidate in [*sources, *(folder / name for folder in sorted(folders))]:
        if candidate.name == name and number.isdigit() and candidate.is_file():
            lines = _lines_of(candidate, candidate.stat().st_mtime_ns)
            return lines[int(number) - 1].strip() if int(number) <= len(lines) else ""
    return ""


def table(events: Sequence[Event], sources: Sequence[Path]) -> list[str]:
    """A line an event: time in ns, who, what, where in which code. Of all events of a trace: the whole interleaving."""
    threads = {(event.host, event.thread) for event in events if event.thread >= 0}
    several = len(threads) > len({host for host, _ in threads})
    who = [f"host {e.host}" + (f" thread {e.thread}" if several and e.thread >= 0 else "") for e in events]
    first, width = (max(map(len, column), default=0) for column in (who, [action(event) for event in events]))
    lines = []
    for subject, event in zip(who, events, strict=True):
        code = source_text(event.source, sources)
        where = f"  {event.place}" if event.source else ""
        shown_code = f"  | {code}" if code and len(code) < 60 else ""
        lines.append(f"  {event.t:>6}  {subject:{first}}  {action(event):{width}}{where}{shown_code}".rstrip())
    return lines


def headline(fault: Fault) -> str:
    """What was found, in a sentence."""
    return fault.message.splitlines()[0] if fault.message else fault.kind


def text(fault: Fault, trace: Trace, diagnosis: Diagnosis, sources: Sequence[Path], printed: str = "") -> list[str]:
    """Lines of the story; where the program itself found something wrong, with the last of what it `printed`."""
    shown = steps(trace, diagnosis)
    lines = [headline(fault), "", *table(shown, sources)]
    if shown:
        lines.append("")
    if fault.kind in OWN_CHECKS:
        said = [line for line in printed.splitlines() if line.strip()][-PRINTED_MAX:]
        lines += [f"says  {line[:PRINTED_WIDTH]}" for line in said]
    if diagnosis.why:
        lines.append(f"why   {diagnosis.why}")
    if diagnosis.mend:
        lines.append(f"mend  {diagnosis.mend}")
    return lines
