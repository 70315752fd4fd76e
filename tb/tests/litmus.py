"""Job litmus: litmus programs as threads of the emulated hosts; every outcome has to be one of the model's.

An interpreter (software/jobs/litmus_run.c) runs each program many times, with real loads, stores and flushes of the
host's view, each time on lines of its own and with a timing that the seed draws (tb/litmus_timing.py). What the
registers hold at the end, and memory where the program asks for it, is compared with the outcomes that the explorer
finds. The run fails on an outcome outside of them. Which bad outcomes were seen is counted: the coverage of the seeds.

A program runs if the machine has the switches that it names. Those of the module, `completion` and `write_unit`, are
the profile's on the RTL port; the others are options of this job.
"""

from __future__ import annotations

import ctypes
import fnmatch
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import LINE_BYTES, POOL_PATH, Clwb, MachineConfig, Policy, Quirk, pool_size
from prismem.lib.emu_traffic import Traffic
from prismem.models.litmus.program import DEFAULTS, condition
from prismem.paths import found, relative, software_library
from prismem.tb import litmus_code as code
from prismem.tb.job import FILE_OPTION, CheckFailed, Context, Job, JobOptions, Request, register
from prismem.tb.litmus import CATALOGUE, explore_built, programs
from prismem.tb.litmus_code import Listing, slot_hosts, slots_of
from prismem.tb.litmus_timing import GRANULE_LINES, ROUND_LINES, draw

ROWS_FILE = "litmus.json"
BOTH_INSIDE = "both inside"
TRIES_MAX = 1000
WORD_BYTES = 8
MODULE_SWITCHES = ("completion", "write_unit")
CHOICES = {
    "completion": ("device", "posted"),
    "clwb": ("may", "keep", "drop"),
    "dma_snoop": ("none", "0"),
    "ddio": ("none", "0"),
    **dict.fromkeys(("prefetch", "evict", "fill_survives_flush", "spurious_dirty"), ("on", "off")),
}
"""Switches that a machine may have, and their values."""
QUIRKS = {
    ("fill_survives_flush", "on"): Quirk.FILL_SURVIVES,
    ("spurious_dirty", "on"): Quirk.SPURIOUS,
    ("ddio", "0"): Quirk.DDIO,
}


class LitmusOptions(JobOptions):
    """Options of litmus."""

    programs: str = Field("*", description="names of the programs, a pattern such as CON-*")
    folder: str = Field(relative(CATALOGUE), description="where they lie", json_schema_extra=FILE_OPTION)
    rounds: int = Field(10, ge=1, le=10_000, description="runs of each program")
    delay: int = Field(8, ge=0, le=1000, description="pauses between two instructions, at most")
    switches: str = Field("", description="of the machine, as in a program's options: clwb=drop,prefetch=off,...")
    traffic: int = Field(
        0, ge=0, le=128, description="RTL port: lines that each host has in flight beside the programs"
    )

    def chosen(self) -> dict[str, str]:
        """The switches by name. Raises MisuseError."""
        asked = {}
        for pair in filter(None, self.switches.split(",")):
            key, _, value = pair.partition("=")
            if value not in CHOICES.get(key, ()):
                known = ", ".join(f"{name}={'|'.join(values)}" for name, values in CHOICES.items())
                raise MisuseError(f"option switches: '{pair}' is not known; choose of {known}")
            asked[key] = value
        return asked


def machine_switches(request: Request) -> dict[str, str]:
    """Options of a program that this machine is right for."""
    asked: dict[str, str] = request.options.chosen()
    if request.port == "rtl":
        module = request.profile.module
        asked["completion"] = "posted" if module.completion.canonical == 1 else "device"
        asked["write_unit"] = str(module.write_unit.canonical)
    return DEFAULTS | asked


@register
class Litmus(Job):
    """Outcomes of real accesses against those of the model."""

    name = "litmus"
    description = "litmus programs on the emulated hosts: no outcome outside of the memory model's"
    ports = ("rtl", "functional")
    hosts = 2
    modules = 2
    profile = "pfma"
    Options = LitmusOptions

    def check(self, request: Request) -> None:
        """Some program has to fit."""
        asked = request.options.chosen()
        if request.port == "rtl" and "completion" in asked:
            raise MisuseError("option switches: the RTL takes completion from the profile; --set module.completion=1")
        if request.port != "rtl" and (asked.get("fill_survives_flush") == "on" or request.options.traffic):
            raise MisuseError("PORT: memory takes no time on the functional port, where fills never survive; use rtl")
        if request.hosts < 2:
            raise MisuseError(f"HOSTS: {request.hosts} shares with nobody; use 2 or more")
        if not self._listings(request):
            raise MisuseError(
                f"option programs: none of {relative(found(request.options.folder))} is like "
                f"'{request.options.programs}' and fits this machine, whose switches its options must name"
            )

    def _listings(self, request: Request) -> list[Listing]:
        """Programs that run."""
        switches, pattern = machine_switches(request), request.options.programs
        listings = [Listing(path) for path in programs([found(request.options.folder)])]
        return [item for item in listings if fnmatch.fnmatch(item.program.name, pattern) and item.fits(switches)]

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds every round, and traffic behind it; how lively caches and threads are, the seed says."""
        options, switches = request.options, machine_switches(request)
        rounds = len(self._listings(request)) * options.rounds
        lines = rounds * ROUND_LINES[request.port] + 2 * GRANULE_LINES * request.hosts * request.modules
        rng = random.Random(f"machine {request.seed}")
        changes: dict[str, Any] = {"completion_posted": switches["completion"] == "posted"}
        if switches["prefetch"] == "off":
            changes["policy"] = Policy.LAZY if switches["evict"] == "off" else Policy.EAGER
        if request.port == "rtl":
            changes |= {"jitter_ns": rng.choice((0, 60, 200, 1000)), "pause_ns": rng.choice((40, 40, 150))}
        return request.machine_config(
            pool_bytes=pool_size(lines * LINE_BYTES),
            detect=False,
            switch_every=2,
            event_every=rng.choice((2, 3, 6)),
            clwb=Clwb[switches["clwb"].upper()],
            dma_snoop=switches["dma_snoop"] != "none",
            **changes,
        )

    def prepare(self, ctx: Context) -> None:
        """A slot for each thread that any program has on a host; initial words at the device; traffic."""
        options, switches = ctx.options, machine_switches(ctx)
        self._programs = self._listings(ctx)
        hosts = slot_hosts([item.program for item in self._programs])
        self._raw = (code.RawProgram * len(self._programs))()
        self._kept: list[Any] = []
        self._rounds: list[ctypes.Array[code.Round]] = []
        self._slots_of = [slots_of(item.program, hosts) for item in self._programs]
        rng = random.Random(f"timing {ctx.seed}")
        line = 0
        for index, item in enumerate(self._programs):
            rounds = (code.Round * options.rounds)()
            for number in range(options.rounds):
                rounds[number] = draw(rng, item, hosts, switches, first=line, port=ctx.port, modules=ctx.modules)
                line += ROUND_LINES[ctx.port]
            self._rounds.append(rounds)
            self._encode(index, options.rounds)
            for name, value in item.program.init.items():
                for number in range(options.rounds):
                    ctx.machine.device_write(self._address(index, number, name), value.to_bytes(WORD_BYTES, "little"))
        self._run = code.Run(
            pool_path=POOL_PATH.encode(),
            program=ctypes.cast(self._raw, ctypes.POINTER(code.RawProgram)),
            seed=ctx.seed,
            programs=len(self._programs),
            rounds=options.rounds,
            slots=len(hosts),
            tries_max=TRIES_MAX,
            delay_max=options.delay,
        )
        library = ctypes.CDLL(str(software_library("litmus_run_inst")), mode=ctypes.RTLD_GLOBAL)
        for slot_index, host in enumerate(hosts):
            slot = code.Slot(run=ctypes.pointer(self._run), index=slot_index)
            ctx.machine.spawn(host, f"slot{slot_index}", library.litmus_slot_run, slot)
        quirks = [quirk for (key, value), quirk in QUIRKS.items() if switches[key] == value]
        ctx.machine.quirks_set(Quirk(sum(quirks)))
        self._add_traffic(ctx, rng, line)

    def _add_traffic(self, ctx: Context, rng: random.Random, first: int) -> None:
        """Each host keeps one module busy, by itself or all of them the same."""
        for host in range(ctx.hosts if ctx.options.traffic else 0):
            granule = host * ctx.modules + rng.randrange(ctx.modules)
            ctx.machine.traffic_add(
                Traffic(
                    host=host,
                    outstanding=ctx.options.traffic,
                    read_permille=rng.choice((300, 700, 1000)),
                    random=True,
                    gap_ns=rng.choice((0, 30, 200)),
                    first_line=first + granule * GRANULE_LINES,
                    lines=GRANULE_LINES,
                )
            )

    def _encode(self, index: int, rounds: int) -> None:
        """Fill in a program."""
        item, raw, slots = self._programs[index], self._raw[index], self._slots_of[index]
        program = item.program
        raw.round = ctypes.cast(self._rounds[index], ctypes.POINTER(code.Round))
        raw.lines = len(program.lines)
        raw.drain = program.asks_memory
        raw.keep = program.options["crash_in_flight"] == "kept"
        raw.recovered = sum(1 << slots[i] for i, thread in enumerate(program.threads) if thread.after_crash)
        overlap = (ctypes.c_uint8 * rounds)()
        raw.overlap = ctypes.cast(overlap, ctypes.POINTER(ctypes.c_uint8))
        self._kept.append(overlap)
        for number, thread in enumerate(program.threads):
            encoded = item.encode(number)
            registers, ended = (ctypes.c_int64 * (rounds * code.REGISTERS))(), (ctypes.c_uint8 * rounds)()
            self._kept += [encoded, registers, ended]
            raw.part[slots[number]] = code.Part(
                ctypes.cast(encoded, ctypes.POINTER(code.RawInstruction)),
                ctypes.cast(registers, ctypes.POINTER(ctypes.c_int64)),
                ctypes.cast(ended, ctypes.POINTER(ctypes.c_uint8)),
                len(thread.code),
                0,
            )

    def _address(self, index: int, number: int, variable: str) -> int:
        line, word = self._programs[index].place(variable)
        return int(self._rounds[index][number].line[line]) * LINE_BYTES + word * WORD_BYTES

    def _outcome(self, ctx: Context, index: int, number: int) -> tuple[str, bool] | None:
        """Outcome of a round and whether it is bad; None when a thread gave up."""
        item, raw = self._programs[index], self._raw[index]
        if raw.overlap[number]:
            return BOTH_INSIDE, True
        registers: dict[tuple[int, str], int] = {}
        for thread_number, thread in enumerate(item.program.threads):
            part = raw.part[self._slots_of[index][thread_number]]
            if not part.ended[number]:
                return None
            for r, name in enumerate(item.registers[thread_number]):
                registers[thread.id, name] = part.registers[number * code.REGISTERS + r]
        memory = {}
        for name in item.program.places if item.program.asks_memory else ():
            data = ctx.machine.device_read(self._address(index, number, name), WORD_BYTES)
            memory[name] = int.from_bytes(data, "little", signed=True)
        words = [f"{thread}.{name}={value}" for (thread, name), value in sorted(registers.items())]
        words += [f"mem.{name}={value}" for name, value in sorted(memory.items())]
        return " ".join(words), condition(item.program.bad)(registers, memory)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Every outcome is one of the model's."""
        mode = "--coherent" if ctx.coherent else "--noncoherent"
        records = list(explore_built([item.path for item in self._programs], mode, "--outcomes"))
        rows = []
        for index, (item, record) in enumerate(zip(self._programs, records, strict=True)):
            outcomes = [self._outcome(ctx, index, number) for number in range(ctx.options.rounds)]
            ended = [outcome for outcome in outcomes if outcome is not None]
            seen = Counter(text for text, _ in ended)
            row = {
                "name": item.program.name,
                "verdict": record["verdict"],
                "runs": len(ended),
                "cut": len(outcomes) - len(ended),
                "bad": sum(is_bad for _, is_bad in ended),
                "bad_seen": sorted({text for text, is_bad in ended if is_bad}),
                "seen": dict(sorted(seen.items())),
                "outcomes": len(record["outcomes"]),
                "outside": sorted(set(seen) - set(record["outcomes"])),
            }
            rows.append(row)
        (ctx.run_dir / ROWS_FILE).write_text(json.dumps(rows), encoding="utf-8")
        judge(rows)
        return {"litmus": rows}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A row a program."""
        return table(metrics["litmus"])


def judge(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise CheckFailed if an outcome is outside of the model, or if no run of any program came to its end."""
    for row in rows:
        if row["outside"]:
            raise CheckFailed(
                f"{row['name']}: outcome '{row['outside'][0]}' is outside of the memory model",
                component=row["name"],
                expected="one of those of prismem_litmus --outcomes",
                actual=row["outside"][0],
            )
    if not any(row["runs"] for row in rows):
        raise CheckFailed("no run of any program came to its end", component="litmus")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Program, verdict of the model, times its bad outcome was seen, runs, runs that gave up, outcomes seen of all."""
    lines = [f"{'program':24} {'model':10} {'bad seen':>8} {'runs':>7} {'cut':>6}  outcomes"]
    for row in rows:
        lines.append(
            f"{row['name']:24} {row['verdict']:10} {row['bad']:8} {row['runs']:7} {row['cut']:6}  "
            f"{len(row['seen'])} of {row['outcomes']}"
        )
    allowed = [row for row in rows if row["verdict"] == "allowed"]
    seen = sum(row["bad"] > 0 for row in allowed)
    return "\n".join([*lines, f"{seen} of {len(allowed)} allowed outcomes seen; none outside of the model"])
