"""Facts that two languages write down are the same in both: straps, parameters, ports, structures, enumerations."""

import re
from dataclasses import fields

import pytest

from prismem.lib import emu, emu_traffic
from prismem.models import profile
from prismem.models.profile_tables import Fabric
from prismem.paths import BENCH_HDL, SOFTWARE
from prismem.tb.runner.build import BENCH_PORTS

HEADER = (SOFTWARE / "emu" / "include" / "prismem_emu.h").read_text()
BENCH = (BENCH_HDL / "tb_rack.sv").read_text()
STRAPS = (BENCH_HDL / "tb_straps.sv").read_text()


def struct_members(name: str) -> list[tuple[str, str]]:
    """(name, type) of the members of a C structure, in order."""
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", HEADER, re.DOTALL)
    assert body is not None
    code = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL)
    declarations = re.findall(r"(uint32_t|uint64_t)\s+([\w,\s]+);", code)
    return [(member.strip(), kind) for kind, members in declarations for member in members.split(",")]


def enumerators(prefix: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(rf"\b{prefix}_(\w+) = (\d+)", HEADER)}


def test_straps_are_those_of_the_bench() -> None:
    """Every strap that the bench reads comes from a profile; its defaults are pfma's, and the switch's for a switch."""
    in_bench = dict(re.findall(r'\b(?:strap|delay|rate|frame|part|credits)\("(\w+)"(?:, (\d+))?', STRAPS))
    straps = profile.load("switch").straps(2) | profile.load("pfma").straps(2)
    assert set(in_bench) == set(straps)
    sizes = {"hdm_base", "hdm_size_mib", "hdm_ways", "hdm_gran_b", "module_mib"}  # their defaults depend on the bench
    assert {name: int(in_bench[name]) for name in set(in_bench) - sizes} == {n: straps[n] for n in set(straps) - sizes}


@pytest.mark.parametrize("name", profile.names())
def test_no_profile_sets_what_the_bench_does_not_read(name: str) -> None:
    """A plusarg that nobody reads would be a number without effect."""
    read = re.findall(r'\b(?:strap|delay|rate|frame|part|credits)\("(\w+)"', STRAPS)
    assert set(profile.load(name).straps()) <= set(read)


@pytest.mark.parametrize("name", profile.names())
def test_no_profile_is_below_what_the_bench_takes(name: str) -> None:
    """Goal: no strap of a profile, those of parts that are not there among them, is refused at time 0."""
    lows = {key: int(low) for key, low in re.findall(r'(?:delay|part|frame)\("(\w+)", \d+, (\d+)\)', STRAPS)}
    lows |= dict.fromkeys(re.findall(r'(?:rate|credits)\("(\w+)"', STRAPS), 1)
    straps = profile.load(name).straps()
    assert len(lows) > 60
    assert [key for key, low in lows.items() if straps.get(key, low) < low] == []


def test_fabrics_are_those_of_the_bench() -> None:
    """The number of a fabric means the same top in Python and in the bench."""
    tops = {"photonic": "pf_appliance_top", "direct": "type3_top", "switch": "switch_top"}
    said = dict(re.findall(r"(\d): (\w+) \(\w+\)", next(line for line in BENCH.splitlines() if "Fabric = 0" in line)))
    assert said == {str(i): fabric.value for i, fabric in enumerate(Fabric)}
    assert re.findall(r"^    (\w+_top) #\($", BENCH, re.MULTILINE) == [tops[fabric.value] for fabric in Fabric]


def test_parameters_are_those_of_the_bench() -> None:
    in_bench = {name: int(value) for name, value in re.findall(r"parameter int unsigned (\w+) = (\d+)", BENCH)}
    assert in_bench == profile.load("pfma").parameters(2, 2)


def test_public_ports_are_all_ports_of_the_bench() -> None:
    ports = set(re.findall(r"^\s*(?:input|output)\s+logic\s+(?:\[\d+:0\]\s+)?(\w+)", BENCH, re.MULTILINE))
    assert set(re.findall(r'-var "(\w+)"', BENCH_PORTS.read_text())) == ports


@pytest.mark.parametrize(
    ("struct", "python", "raw"),
    [
        ("emu_config", emu.MachineConfig, emu._CConfig),
        ("emu_traffic", emu_traffic.Traffic, emu_traffic.CTraffic),
        ("emu_engine", emu_traffic.Engine, emu_traffic.CEngine),
    ],
)
def test_structures_of_the_emulator(struct: str, python: type, raw: type) -> None:
    """Same members, same order, same width."""
    members = struct_members(struct)
    assert [name for name, _ in members] == ["struct_bytes", *(field.name for field in fields(python))]
    widths = {"uint32_t": 4, "uint64_t": 8}
    assert [(name, getattr(raw, name).size) for name, _ in members] == [(name, widths[kind]) for name, kind in members]


def test_fields_of_an_engine_are_those_of_its_descriptor() -> None:
    """The bench fetches by number what C holds by name: same fields, same order in all three places."""
    named = [name for name, _ in struct_members("emu_engine") if name not in ("struct_bytes", "host", "phase")]
    code = (SOFTWARE / "emu" / "src" / "engine.cpp").read_text()
    fetched = re.search(r"fields\[\] = {(.*?)}", code, re.DOTALL)
    assert fetched is not None
    assert re.findall(r"e->(\w+)", fetched[1]) == named
    enumerated = re.findall(r"\bField(\w+) = (\d+)", (BENCH_HDL / "traffic_pkg.sv").read_text())
    assert [int(number) for _, number in enumerated] == list(range(len(named)))
    assert [re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower() for name, _ in enumerated] == named


@pytest.mark.parametrize(
    ("prefix", "python"), [("EMU_PORT", emu.Port), ("EMU_POLICY", emu.Policy), ("EMU_CLWB", emu.Clwb)]
)
def test_enumerations_of_the_emulator(prefix: str, python: type) -> None:
    assert enumerators(prefix) == {member.name: member.value for member in python}


def test_states_of_the_emulator() -> None:
    found = enumerators("EMU")
    assert {name: found[name] for name in emu.State.__members__} == {s.name: s.value for s in emu.State}


def test_every_binding_is_declared_in_the_header() -> None:
    for name in emu._SIGNATURES:
        assert re.search(rf"\b{name}\(", HEADER), name
