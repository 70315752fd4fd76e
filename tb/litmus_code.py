"""Litmus programs as the interpreter of software/jobs/litmus_run.c takes them: its structures, and threads encoded."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from prismem.models.litmus.program import WORDS, Instruction, Program, Thread, parse

# The order is that of enum litmus_op.
OPS = (
    "st", "ld", "clflush", "clflushopt", "clwb", "sfence", "mfence", "lfence", "nt", "movdir64b", "uc_st", "uc_ld",
    "dma_st", "dma_ld", "cas", "mov", "add", "beq", "bne", "blt", "ble", "jmp", "cs_enter", "cs_leave", "send", "recv",
    "stop",
)  # fmt: skip
LOADS = ("ld", "uc_ld", "dma_ld")
REGISTERS, CHANNELS, SLOTS_MAX, LINES_MAX, EVENTS_MAX = 16, 16, 8, 8, 4
LIVES = 2**32 - 1
FREE_OPTIONS = ("warm", "crash_in_flight")
"""Options of a program that the interpreter does itself; every machine is right for them."""

_U32, _U64 = ctypes.c_uint32, ctypes.c_uint64


class Operand(ctypes.Structure):
    """`litmus_operand`."""

    _fields_ = [("value", ctypes.c_int64), ("is_register", ctypes.c_int64)]


class RawInstruction(ctypes.Structure):
    """`litmus_instruction`."""

    _fields_ = [
        *((name, _U32) for name in ("op", "place", "reg", "target")),
        *((name, Operand) for name in ("a", "b")),
        ("words", ctypes.c_int64 * WORDS),
    ]


class Part(ctypes.Structure):
    """`litmus_part`."""

    _fields_ = [
        ("code", ctypes.POINTER(RawInstruction)),
        ("registers", ctypes.POINTER(ctypes.c_int64)),
        ("ended", ctypes.POINTER(ctypes.c_uint8)),
        ("count", _U32),
        ("pad", _U32),
    ]


class Event(ctypes.Structure):
    """`litmus_event`."""

    _fields_ = [(name, _U32) for name in ("at", "kind", "line", "then_ns")]


class Turn(ctypes.Structure):
    """`litmus_turn`."""

    _fields_ = [
        *((name, _U32) for name in ("warm", "start_ns", "gap_ns", "stall_at", "stall_ns", "die_at", "events")),
        ("event", Event * EVENTS_MAX),
    ]


class Round(ctypes.Structure):
    """`litmus_round`."""

    _fields_ = [("line", _U64 * LINES_MAX), ("turn", Turn * SLOTS_MAX)]


class RawProgram(ctypes.Structure):
    """`litmus_program`."""

    _fields_ = [
        ("round", ctypes.POINTER(Round)),
        ("overlap", ctypes.POINTER(ctypes.c_uint8)),
        *((name, _U32) for name in ("lines", "drain", "keep", "recovered")),
        ("part", Part * SLOTS_MAX),
    ]


class Run(ctypes.Structure):
    """`litmus_run`."""

    _fields_ = [
        ("pool_path", ctypes.c_char_p),
        ("program", ctypes.POINTER(RawProgram)),
        ("seed", _U64),
        *((name, _U32) for name in ("programs", "rounds", "slots", "tries_max", "delay_max")),
        *((name, _U32) for name in ("arrived", "phase", "inside", "overlap", "died")),
        ("messages", _U32 * CHANNELS),
    ]


class Slot(ctypes.Structure):
    """`litmus_slot`."""

    _fields_ = [("run", ctypes.POINTER(Run)), ("index", _U64)]


class Listing:
    """One program with its registers by name and its encoded threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.program: Program = parse(path.read_text(encoding="utf-8"))
        self.registers = [_names(thread) for thread in self.program.threads]

    def unfit(self, switches: Mapping[str, str]) -> str | None:
        """Why a machine with these switches is not right for the program; None if it is."""
        program = self.program
        asked = {key: value for key, value in program.options.items() if key not in FREE_OPTIONS}
        wrong = [f"{key}={value}" for key, value in asked.items() if switches[key] != value]
        if wrong:
            return "needs " + " ".join(wrong)
        dying = [thread for thread in program.threads if thread.host in program.crashes and not thread.after_crash]
        if len(program.crashes) > 1 or (program.crashes and len(dying) != 1):
            return "more than one crash, or a host that dies with several threads"
        words = Counter(line for line, _ in program.places.values())
        shared = any(
            words[program.places[arg][0]] != 1
            for thread in program.threads
            for instruction in thread.code
            if instruction.op.startswith("dma_")
            for arg in instruction.args
            if arg in program.places
        )
        return "DMA moves whole lines, and this one holds other variables" if shared else None

    def fits(self, switches: Mapping[str, str]) -> bool:
        """Whether a machine with these switches does what the program asks for."""
        return self.unfit(switches) is None

    def place(self, variable: str) -> tuple[int, int]:
        """Number of the line among the program's, and word in it."""
        line, word = self.program.places[variable]
        return self.program.lines.index(line), word

    def encode(self, number: int) -> ctypes.Array[RawInstruction]:
        """The instructions of a thread."""
        thread = self.program.threads[number]
        channels = sorted({i.args[0] for t in self.program.threads for i in t.code if i.op in ("send", "recv")})
        code = (RawInstruction * max(len(thread.code), 1))()
        code[0].op = OPS.index("stop")
        for at, instruction in enumerate(thread.code):
            self._instruction(code[at], thread, instruction, self.registers[number], channels)
        return code

    def _instruction(
        self,
        raw: RawInstruction,
        thread: Thread,
        instruction: Instruction,
        names: Sequence[str],
        channels: Sequence[str],
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
            line, word = self.place(args.pop(0))
            raw.place = line * WORDS + word
        if op == "movdir64b":
            raw.words[: len(args)] = [int(text) for text in args]
            return
        for field, text in zip(("a", "b"), args, strict=False):
            is_register = text in names
            setattr(raw, field, Operand(names.index(text) if is_register else int(text), is_register))


def _names(thread: Thread) -> list[str]:
    """Registers of a thread, in order of appearance: what loads and arithmetic write."""
    written = [
        instruction.args[-1] if instruction.op == "cas" else instruction.args[0]
        for instruction in thread.code
        if instruction.op in (*LOADS, "mov", "add", "cas")
    ]
    return list(dict.fromkeys(written))


def slot_hosts(programs: Sequence[Program]) -> list[int]:
    """Host of each slot: as many of a host as any program has threads there."""
    most: Counter[int] = Counter()
    for program in programs:
        most |= Counter(thread.host for thread in program.threads)
    return sorted(most.elements())


def slots_of(program: Program, hosts: Sequence[int]) -> list[int]:
    """Slot of each thread of a program."""
    free = list(range(len(hosts)))
    slots = []
    for thread in program.threads:
        slot = next(index for index in free if hosts[index] == thread.host)
        free.remove(slot)
        slots.append(slot)
    return slots
