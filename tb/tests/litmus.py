"""Job litmus: the litmus catalogue as threads of the emulated hosts; every outcome has to be one of the model's.

An interpreter (software/jobs/litmus_run.c) runs each program many times, with real loads, stores and flushes of the
host's view, on lines of its own each time. What the registers hold at the end, and memory where the program asks for
it, is compared with the outcomes that the explorer finds. The run fails on an outcome outside of them. Which bad
outcomes were seen is counted: that is the coverage of a set of seeds.

A program runs if the machine has the switches that it names: `completion=posted` and `write_unit=32` are the profile's
(on the functional port an option of this job), others are options of this job. Crashes, fills that survive flushes,
spurious write-backs and DDIO are nothing that the emulated hosts do here.
"""

from __future__ import annotations

import ctypes
import fnmatch
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import LINE_BYTES, POOL_PATH, Clwb, MachineConfig, pool_size
from prismem.models.litmus.program import DEFAULTS, WORDS, Instruction, Program, Thread, condition, parse
from prismem.paths import relative, software_library
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register
from prismem.tb.litmus import CATALOGUE, explore_built, programs

# The order is that of enum litmus_op.
OPS = (
    "st", "ld", "clflush", "clflushopt", "clwb", "sfence", "mfence", "lfence", "nt", "movdir64b", "uc_st", "uc_ld",
    "dma_st", "dma_ld", "cas", "mov", "add", "beq", "bne", "blt", "ble", "jmp", "cs_enter", "cs_leave", "send", "recv",
    "stop",
)  # fmt: skip
LOADS = ("ld", "uc_ld", "dma_ld")
REGISTERS, CHANNELS, SLOTS_MAX = 16, 16, 8
BOTH_INSIDE = "both inside"
TRIES_MAX = 300
BYTE = 8


class _Operand(ctypes.Structure):
    _fields_ = [("value", ctypes.c_int64), ("is_register", ctypes.c_int64)]


class _Instruction(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("op", "offset", "reg", "target")),
        *((name, _Operand) for name in ("a", "b")),
        ("words", ctypes.c_int64 * WORDS),
    ]


class _Part(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.POINTER(_Instruction)),
        ("registers", ctypes.POINTER(ctypes.c_int64)),
        ("ended", ctypes.POINTER(ctypes.c_uint8)),
        ("count", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [
        ("first_line", ctypes.c_uint64),
        ("overlap", ctypes.POINTER(ctypes.c_uint8)),
        *((name, ctypes.c_uint32) for name in ("lines", "warm", "drain", "pad")),
        ("part", _Part * SLOTS_MAX),
    ]


class _Run(ctypes.Structure):
    _fields_ = [
        ("pool_path", ctypes.c_char_p),
        ("program", ctypes.POINTER(_Program)),
        ("seed", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("programs", "rounds", "slots", "tries_max", "delay_max")),
        *((name, ctypes.c_uint32) for name in ("arrived", "phase", "inside", "overlap")),
        ("messages", ctypes.c_uint32 * CHANNELS),
    ]


class _Slot(ctypes.Structure):
    _fields_ = [("run", ctypes.POINTER(_Run)), ("index", ctypes.c_uint64)]


class LitmusOptions(JobOptions):
    """Options of litmus."""

    programs: str = Field("*", description="names of the programs, a pattern such as CON-*")
    rounds: int = Field(10, ge=1, le=10_000, description="runs of each program")
    delay: int = Field(8, ge=0, le=1000, description="pauses between two instructions, at most")
    events: bool = Field(True, description="fills and evictions happen by themselves")
    posted: bool = Field(False, description="functional port: completion=posted")
    dma_snoop: bool = Field(False, description="DMA snoops the cache of its host")
    clwb: Literal["may", "keep", "drop"] = Field("may", description="what clwb leaves behind")


class Listing:
    """One program with its place in the pool and its encoded threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.program: Program = parse(path.read_text(encoding="utf-8"))
        self.first_line = 0
        self.registers = [_names(thread) for thread in self.program.threads]

    def fits(self, switches: Mapping[str, str]) -> bool:
        """Whether the machine does what the program's options say, and has all that its instructions need."""
        asked = self.program.options | {"warm": switches["warm"]}
        asked["dma_snoop"] = "none" if asked["dma_snoop"] == "none" else "0"
        words = Counter(line for line, _ in self.program.places.values())
        alone = all(
            words[self.program.places[arg][0]] == 1
            for thread in self.program.threads
            for instruction in thread.code
            if instruction.op.startswith("dma_")
            for arg in instruction.args
            if arg in self.program.places
        )
        return asked == dict(switches) and not self.program.crashes and alone

    def offset(self, variable: str) -> int:
        """Bytes from the first line of a round."""
        line, word = self.program.places[variable]
        return self.program.lines.index(line) * LINE_BYTES + word * BYTE

    def encode(self, number: int) -> ctypes.Array[_Instruction]:
        """The instructions of a thread."""
        thread = self.program.threads[number]
        channels = sorted({i.args[0] for t in self.program.threads for i in t.code if i.op in ("send", "recv")})
        code = (_Instruction * max(len(thread.code), 1))()
        code[0].op = OPS.index("stop")
        for at, instruction in enumerate(thread.code):
            self._instruction(code[at], thread, instruction, self.registers[number], channels)
        return code

    def _instruction(
        self, raw: _Instruction, thread: Thread, instruction: Instruction, names: Sequence[str], channels: Sequence[str]
    ) -> None:
        op, args = instruction.op, list(instruction.args)
        raw.op = OPS.index(op)
        if op in ("send", "recv"):
            raw.target = channels.index(args.pop())
        elif op in ("beq", "bne", "blt", "ble", "jmp"):
            raw.target = thread.labels[args.pop()]
        elif op in (*LOADS, "mov", "add"):
            raw.reg = names.index(args.pop(0))
        elif op == "cas":
            raw.reg = names.index(args.pop())
        if args and args[0] in self.program.places:
            raw.offset = self.offset(args.pop(0))
        if op == "movdir64b":
            raw.words[: len(args)] = [int(text) for text in args]
            return
        for field, text in zip(("a", "b"), args, strict=False):
            is_register = text in names
            setattr(raw, field, _Operand(names.index(text) if is_register else int(text), is_register))


def _names(thread: Thread) -> list[str]:
    """Registers of a thread, in order of appearance: what loads and arithmetic write."""
    written = [
        instruction.args[-1] if instruction.op == "cas" else instruction.args[0]
        for instruction in thread.code
        if instruction.op in (*LOADS, "mov", "add", "cas")
    ]
    return list(dict.fromkeys(written))


@register
class Litmus(Job):
    """Outcomes of real accesses against those of the model."""

    name = "litmus"
    description = "litmus programs on the emulated hosts: no outcome outside of the memory model's"
    ports = ("rtl", "functional")
    hosts = 2
    modules = 1
    profile = "tiny"
    Options = LitmusOptions

    def check(self, request: Request) -> None:
        """Some program has to fit."""
        if request.port == "rtl" and request.options.posted:
            raise MisuseError("option posted: the RTL takes it from the profile; use --set module.completion=1")
        if request.hosts < 2:
            raise MisuseError(f"HOSTS: {request.hosts} shares with nobody; use 2 or more")
        if not self._listings(request):
            raise MisuseError(
                f"option programs: none of {relative(CATALOGUE)} is like '{request.options.programs}' and fits this "
                "machine; its options line must name the switches of this run"
            )

    def _switches(self, request: Request) -> dict[str, str]:
        """Options of a program that this machine is right for."""
        options: LitmusOptions = request.options
        module = request.profile.module
        rtl = request.port == "rtl"
        posted = module.completion.canonical == 1 if rtl else options.posted
        return DEFAULTS | {
            "completion": "posted" if posted else "device",
            "write_unit": str(module.write_unit.canonical if rtl else LINE_BYTES),
            "clwb": options.clwb,
            "dma_snoop": "0" if options.dma_snoop else "none",
            "prefetch": "on" if options.events else "off",
            "evict": "on" if options.events else "off",
        }

    def _listings(self, request: Request) -> list[Listing]:
        """Programs that run, at their places in the pool."""
        switches = self._switches(request)
        listings = [Listing(path) for path in programs([CATALOGUE])]
        pattern = request.options.programs
        fitting = [item for item in listings if fnmatch.fnmatch(item.program.name, pattern) and item.fits(switches)]
        line = 0
        for item in fitting:
            item.first_line = line
            line += len(item.program.lines) * request.options.rounds
        return fitting

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds every round; switches and cache events as often as possible."""
        options: LitmusOptions = request.options
        last = self._listings(request)[-1]
        lines = last.first_line + len(last.program.lines) * options.rounds
        changes = {} if request.port == "rtl" else {"completion_posted": options.posted}
        return request.machine_config(
            pool_bytes=pool_size(lines * LINE_BYTES),
            detect=False,
            switch_every=2,
            event_every=3 if options.events else 0,
            clwb=Clwb[options.clwb.upper()],
            dma_snoop=options.dma_snoop,
            jitter_ns=200 if request.port == "rtl" else 0,
            **changes,
        )

    def prepare(self, ctx: Context) -> None:
        """A slot for each thread that any program has on a host; initial words at the device."""
        options: LitmusOptions = ctx.options
        self._programs = self._listings(ctx)
        hosts = _slot_hosts([item.program for item in self._programs])
        self._raw = (_Program * len(self._programs))()
        self._kept: list[Any] = []
        self._slots_of: list[list[int]] = []
        for raw, item in zip(self._raw, self._programs, strict=True):
            self._slots_of.append(self._encode(raw, item, hosts, options.rounds))
            for name, value in item.program.init.items():
                for round_number in range(options.rounds):
                    ctx.machine.device_write(self._address(item, round_number, name), value.to_bytes(BYTE, "little"))
        self._run = _Run(
            pool_path=POOL_PATH.encode(),
            program=ctypes.cast(self._raw, ctypes.POINTER(_Program)),
            seed=ctx.seed,
            programs=len(self._programs),
            rounds=options.rounds,
            slots=len(hosts),
            tries_max=TRIES_MAX,
            delay_max=options.delay,
        )
        library = ctypes.CDLL(str(software_library("litmus_run_inst")), mode=ctypes.RTLD_GLOBAL)
        for index, host in enumerate(hosts):
            slot = _Slot(run=ctypes.pointer(self._run), index=index)
            ctx.machine.spawn(host, f"slot{index}", library.litmus_slot_run, slot)

    def _encode(self, raw: _Program, item: Listing, hosts: Sequence[int], rounds: int) -> list[int]:
        """Fill in a program; returns the slot of each of its threads."""
        raw.first_line = item.first_line
        raw.lines = len(item.program.lines)
        raw.warm = item.program.options["warm"] == "on"
        raw.drain = item.program.asks_memory
        overlap = (ctypes.c_uint8 * rounds)()
        raw.overlap = ctypes.cast(overlap, ctypes.POINTER(ctypes.c_uint8))
        self._kept.append(overlap)
        free = list(range(len(hosts)))
        slots = []
        for number, thread in enumerate(item.program.threads):
            slot = next(index for index in free if hosts[index] == thread.host)
            free.remove(slot)
            slots.append(slot)
            code = item.encode(number)
            registers, ended = (ctypes.c_int64 * (rounds * REGISTERS))(), (ctypes.c_uint8 * rounds)()
            self._kept += [code, registers, ended]
            raw.part[slot] = _Part(
                ctypes.cast(code, ctypes.POINTER(_Instruction)),
                ctypes.cast(registers, ctypes.POINTER(ctypes.c_int64)),
                ctypes.cast(ended, ctypes.POINTER(ctypes.c_uint8)),
                len(thread.code),
                0,
            )
        return slots

    @staticmethod
    def _address(item: Listing, round_number: int, variable: str) -> int:
        return (item.first_line + round_number * len(item.program.lines)) * LINE_BYTES + item.offset(variable)

    def _outcome(self, ctx: Context, index: int, round_number: int) -> tuple[str, bool] | None:
        """Outcome of a round and whether it is bad; None when a thread gave up."""
        item, raw = self._programs[index], self._raw[index]
        if raw.overlap[round_number]:
            return BOTH_INSIDE, True
        registers: dict[tuple[int, str], int] = {}
        for number, thread in enumerate(item.program.threads):
            part = raw.part[self._slots_of[index][number]]
            if not part.ended[round_number]:
                return None
            for r, name in enumerate(item.registers[number]):
                registers[thread.id, name] = part.registers[round_number * REGISTERS + r]
        memory = {}
        for name in item.program.places if item.program.asks_memory else ():
            data = ctx.machine.device_read(self._address(item, round_number, name), BYTE)
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
            found = [self._outcome(ctx, index, number) for number in range(ctx.options.rounds)]
            ended = [outcome for outcome in found if outcome is not None]
            seen = Counter(text for text, _ in ended)
            row = {
                "name": item.program.name,
                "verdict": record["verdict"],
                "runs": len(ended),
                "cut": len(found) - len(ended),
                "bad": sum(is_bad for _, is_bad in ended),
                "seen": dict(sorted(seen.items())),
                "outcomes": len(record["outcomes"]),
                "outside": sorted(set(seen) - set(record["outcomes"])),
            }
            rows.append(row)
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


def _slot_hosts(programs_: Sequence[Program]) -> list[int]:
    """Host of each slot: as many of a host as any program has threads there."""
    most: Counter[int] = Counter()
    for program in programs_:
        most |= Counter(thread.host for thread in program.threads)
    return sorted(most.elements())


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
