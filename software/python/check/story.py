"""The story of a fault in at most a screen: who wrote what, which cache held what, what was missing and where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prismem.lib.check.diagnosis import Diagnosis
from prismem.lib.check.log import Fault
from prismem.lib.check.trace import COMMIT_OF_CLWB, Event, Trace

STEPS_MAX = 12
"""Steps of a story; the whole interleaving is on the page."""
WORD_BYTES = 8


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
    return texts.get(event.event, f"{event.event.upper()} of {line}")


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


def source_text(place: str, sources: Sequence[Path]) -> str:
    """The text of `file:line` in one of the sources or a header beside them; empty if it cannot be told."""
    name, _, number = place.partition(":")
    folders = {source.resolve().parent for source in sources}
    for candidate in [*sources, *(folder / name for folder in sorted(folders))]:
        if candidate.name == name and number.isdigit() and candidate.is_file():
            lines = candidate.read_text(encoding="utf-8", errors="replace").splitlines()
            return lines[int(number) - 1].strip() if int(number) <= len(lines) else ""
    return ""


def headline(fault: Fault) -> str:
    """What was found, in a sentence."""
    return fault.message.splitlines()[0] if fault.message else fault.kind


def text(fault: Fault, trace: Trace, diagnosis: Diagnosis, sources: Sequence[Path]) -> list[str]:
    """Lines of the story."""
    shown = steps(trace, diagnosis)
    lines = [headline(fault), ""]
    threads = {(event.host, event.thread) for event in shown if event.thread >= 0}
    several = len(threads) > len({host for host, _ in threads})
    who = [f"host {e.host}" + (f" thread {e.thread}" if several and e.thread >= 0 else "") for e in shown]
    first, width = (max(map(len, column), default=0) for column in (who, [action(event) for event in shown]))
    for subject, event in zip(who, shown, strict=True):
        code = source_text(event.source, sources)
        where = f"  {event.place}" if event.source else ""
        shown_code = f"  | {code}" if code and len(code) < 60 else ""
        lines.append(f"  {event.t:>6}  {subject:{first}}  {action(event):{width}}{where}{shown_code}".rstrip())
    if shown:
        lines.append("")
    if diagnosis.why:
        lines.append(f"why   {diagnosis.why}")
    if diagnosis.mend:
        lines.append(f"mend  {diagnosis.mend}")
    return lines
