"""Profiles: what a wrong one says, and that the numbers that follow from a right one are exact."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from prismem.errors import MisuseError, ProfileError
from prismem.models import latency
from prismem.models import profile as profiles
from prismem.models.quantity import Rate
from prismem.paths import PROFILES, ROOT


def edited(tmp_path: Path, old: str, new: str) -> str:
    """Path of a copy of the pfma profile with one text replaced."""
    text = (PROFILES / "pfma.toml").read_text()
    assert old in text
    path = tmp_path / "edited.toml"
    path.write_text(text.replace(old, new, 1))
    return str(path)


@pytest.mark.parametrize("name", profiles.names())
def test_every_profile_loads_and_gives_whole_straps(name: str) -> None:
    """Each profile of the checkout is valid; straps and parameters are plain integers."""
    profile = profiles.load(name)
    hosts, modules = profile.rack.hosts.canonical, profile.rack.modules.canonical
    numbers = profile.straps(modules) | profile.parameters(hosts, modules)
    assert all(type(value) is int and value >= 0 for value in numbers.values())
    assert profile.name == name


def test_straps_of_the_appliance() -> None:
    """28.125 GB/s is 450/16 B/ns; 5 m of fibre are 25 ns; 4 modules give 4 ways."""
    straps = profiles.load("pfma").straps(4)
    assert straps["path_rate_b16"] == 450
    assert straps["path_flight_ns"] == 25
    assert straps["cxl_rate_b16"] == 128 * 16
    assert (straps["hdm_ways"], straps["hdm_gran_b"]) == (4, 256)
    assert straps["hdm_size_mib"] == 4 * 2 * 1024 * 1024


@pytest.mark.parametrize(("modules", "ways"), [(1, 1), (2, 2), (3, 1), (4, 4), (6, 2), (12, 4), (16, 16)])
def test_ways_are_the_widest_that_fit(modules: int, ways: int) -> None:
    profile = profiles.load("pfma")
    profile.check_size(1, modules)
    assert profile.hdm_ways(modules) == ways


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('unit = "m"', 'unit = "s"', ["path.fibre_length", "'s'", "use m or cm"]),
        ('unit = "m", ', "", ["path.fibre_length.unit", "missing"]),
        ("value = 28.125", "value = 28.1", ["path.rate", "28.1 GB/s", "0.0625 GB/s"]),
        ("value = 28.125", "value = -1", ["path.rate", "negative"]),
        ("value = 28.125", 'value = "4"', ["path.rate.value", "'4' is a text, write a number"]),
        ("value = 28.125", "value = nan", ["path.rate", "nan is not a finite number"]),
        ("value = 28.125", "value = " + "9" * 5000, ["not TOML", "digits"]),
        ("value = 28.125", "value = 0", ["path.rate", "1..4095.9375 GB/s"]),
        ("value = 28.125", "value = " + "[" * 5000, ["not TOML"]),
        ('name = "pfma"', "", ["name: missing", 'name = "..."']),
        ('name = "pfma"', "name = 5", ["name: 5 is a number, write a text in quotes"]),
        ("[nic]", "nic = 5\n[nick]", ["cxl.nic", "unknown key"]),
        ("decode_time = {", "decode_time = 5 # {", ["nic.decode_time: 5 is a number, write { value"]),
        ('unit = "m", ', 'unit = "m", colour = 1, ', ["path.fibre_length.colour: unknown key", "value, unit, source"]),
        ("granularity = { value = 256", "granularity = { value = 300", ["hdm.granularity", "256 B, 512 B, 1 KiB"]),
        ("value = 128, unit", "value = true, unit", ["cxl.rate", "True is a truth value, write a number"]),
        ("fibre_length", "fiber_length", ["path", "fib"]),
        ("[nic]", "[nic]\nspeed = 1", ["nic.speed", "unknown key", "decode_time"]),
        ("[nic]", "[nick]", ["nic"]),
        ("value = 128, unit", "value = 0, unit", ["cxl.rate", "0 GB/s", "outside"]),
        ("decode_time = { value = 12", "decode_time = { value = 0", ["nic.decode_time", "0 ns", "1..65535 ns"]),
        ("phy_time = { value = 28", "phy_time = { value = 65520", ["path.phy_time", "shorten the fibre"]),
        ("header = { value = 4,", "header = { value = 3,", ["frame.header", "4..64 B"]),
        ("capacity = { value = 2,", "capacity = { value = 1,", ["hdm.window", "module.capacity"]),
        ("base = { value = 64,", "base = { value = 64.1,", ["hdm.base"]),
        ("banks = { value = 32", "banks = { value = 12", ["hbm.banks", "12", "use one of"]),
        ('source = "chosen: one rack"', 'source = " "', ["path.fibre_length", "source is empty"]),
        ("refresh_time = { value = 130", "refresh_time = { value = 3900", ["hbm.refresh_time", "refresh_interval"]),
        ("[hdm]", "[hdm", ["not TOML"]),
        ('fabric = "photonic"', 'fabric = "copper"', ["rack.fabric: 'copper'", "one of photonic, direct, switch"]),
        (
            'fabric = "photonic"',
            'fabric = "switch"',
            ["frame", "rack.fabric 'switch' has none", "remove the table [frame]"],
        ),
    ],
)
def test_wrong_profiles_name_file_key_and_cure(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    """One edit makes the profile wrong; the message names the file and what to do."""
    with pytest.raises(ProfileError) as caught:
        profiles.load(edited(tmp_path, old, new))
    assert "edited.toml" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "word"),
    [
        ("pfma", "[path]", "[nopath]", "nopath: unknown key"),
        ("switch", "[switch]", "[bridge]", "bridge: unknown key"),
        ("niagara", "modules = { value = 1,", "modules = { value = 2,", "rack.modules: 2 .* use 1"),
        ("niagara", 'fabric = "direct"', 'fabric = "switch"', r"add the table \[switch\]"),
        ("switch", "hops = { value = 2", "hops = { value = 5", r"switch.hops: 5 is outside 1\.\.4"),
        ("switch", "hop4_time = { value = 130", "hop4_time = { value = 0", "switch.hop4_time: 0 ns is outside"),
    ],
)
def test_fabric_and_tables_agree(tmp_path: Path, name: str, old: str, new: str, word: str) -> None:
    """A fabric needs its own tables and no others."""
    text = (PROFILES / f"{name}.toml").read_text()
    assert old in text
    (tmp_path / "edited.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(ProfileError, match=word):
        profiles.load(str(tmp_path / "edited.toml"))


def test_unknown_profile_lists_the_names() -> None:
    with pytest.raises(ProfileError, match=r"niagara, pfma, .*tiny"):
        profiles.load("pmfa")


def test_a_machine_without_hbm_needs_no_numbers_of_it() -> None:
    """Mode and commit time are all; with HBM each number that is missing is named."""
    niagara = profiles.load("niagara")
    assert niagara.hbm.commit_time.canonical == 20
    assert (niagara.hbm.channels.canonical, niagara.hbm.rate.source) == (1, "no HBM")
    with pytest.raises(ProfileError, match=r"hbm\.base.*missing"):
        profiles.load("niagara", ["hbm.mode=0"])


def own_profile() -> dict[str, Any]:
    """docs/profiles.md: niagara with the numbers of the example in their places."""
    text = (ROOT / "docs" / "profiles.md").read_text()
    example = text.partition("## A profile of your own")[2].partition("```toml")[2].partition("```")[0].strip()
    assert len(example.splitlines()) <= 20
    merged = tomllib.loads((profiles.PROFILES / "niagara.toml").read_text())
    for key, value in tomllib.loads(example).items():
        merged[key] = merged[key] | value if isinstance(value, dict) else value
    return merged


def as_toml(content: dict[str, Any]) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in content.items() if not isinstance(value, dict)]
    for name, table in content.items():
        if isinstance(table, dict):
            lines.append(f"[{name}]")
            for key, value in table.items():
                parts = value.items() if isinstance(value, dict) else ()
                entry = ", ".join(f"{part} = {json.dumps(text)}" for part, text in parts)
                lines.append(f"{key} = {{ {entry} }}" if entry else f"{key} = {json.dumps(value)}")
    return "\n".join(lines)


def test_the_example_of_the_documents_is_a_profile(tmp_path: Path) -> None:
    """Twenty lines over a copy of niagara: it loads, and its latency follows from the example's numbers."""
    content = own_profile()
    file = tmp_path / "mine.toml"
    file.write_text(as_toml(content))
    mine, niagara = profiles.load(str(file)), profiles.load("niagara")
    assert (mine.name, mine.rack.hosts.canonical, mine.ddr.channels.canonical) == ("mine", 4, 2)
    stages, before = (latency.idle_stages_ns(machine, "read") for machine in (mine, niagara))
    assert stages["cxl_request"] == 60 + 4  # 256 B at 64 GB/s
    assert {name for name in stages if stages[name] != before[name]} == {"cxl_request", "cxl_response", "media"}


def test_a_number_that_is_missing_is_named(tmp_path: Path) -> None:
    content = own_profile()
    del content["nic"]["decode_time"]
    file = tmp_path / "mine.toml"
    file.write_text(as_toml(content))
    with pytest.raises(ProfileError, match=r"mine\.toml: nic\.decode_time: missing"):
        profiles.load(str(file))


def test_override_changes_one_number() -> None:
    """10 m more fibre are 50 ns more flight, and nothing else."""
    before, after = profiles.load("pfma").straps(2), profiles.load("pfma", ["path.fibre_length=15 m"]).straps(2)
    assert {key: after[key] - before[key] for key in before if before[key] != after[key]} == {"path_flight_ns": 50}


@pytest.mark.parametrize(
    ("override", "word"),
    [
        ("path.length=1 m", "unknown key"),
        ("path.fibre_length=15", "path.fibre_length=15: .*unit missing; use m or cm, for example '15 m'"),
        ("path.fibre_length=10001 m", r"outside 0\.\.10000 m"),
        ("path.rate=0 Gb/s", r"outside 8\.\.32767\.5 Gb/s"),
        ("path.phy_time=0.07 ms", "use ns or us"),
        ("hbm.cas_time=100 us", r"outside 0\.001\.\.65\.535 us"),
        ("path.rate=nan GB/s", "not a finite number"),
        ("hdm.window=1 KiB", r"outside 2 MiB\.\.2 TiB"),
        ("module.capacity=1 TiB", "hdm.window: 2 TiB is more than"),
        ("path", "section.key=value"),
        ("path.fibre_length=long", "number with a unit"),
        ("path.fibre_length=1 ns", "use m or cm"),
        ("path.fibre_length=0.3 m", "not a whole number"),
        ("rack.hosts=17", "outside 1..16"),
    ],
)
def test_wrong_overrides(override: str, word: str) -> None:
    """The message names the override, not the file."""
    with pytest.raises(ProfileError, match=word) as caught:
        profiles.load("pfma", [override])
    assert str(caught.value).startswith(f"--set {override}: ")


def test_overrides_may_need_each_other() -> None:
    """Less capacity needs a smaller window, whichever is named first."""
    sets = ["hdm.window=1 TiB", "module.capacity=1 TiB"]
    assert profiles.load("pfma", sets) == profiles.load("pfma", reversed(sets))


def test_what_is_no_file(tmp_path: Path) -> None:
    """Nothing, a directory, and a binary, each named .toml."""
    (tmp_path / "dir.toml").mkdir()
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name, word in (("nope", "no such file"), ("dir", "directory"), ("binary", "not TOML")):
        with pytest.raises(ProfileError, match=word):
            profiles.load(str(tmp_path / f"{name}.toml"))
    with pytest.raises(ProfileError, match="'' is unknown"):
        profiles.load("")


@pytest.mark.parametrize(
    ("hosts", "modules", "word"),
    [
        (0, 1, "HOSTS: 0 .*choose 1..16$"),
        (-3, 1, "HOSTS: -3 .*choose 1..16$"),
        (17, 1, "HOSTS: 17 .*choose 1..16 or another profile"),
        (1, 17, "MODULES: 17"),
        (1, 5, "MODULES: 5 .*use one of 1, 2, 3, 4, 6, 8, 12, 16$"),
    ],
)
def test_impossible_sizes(hosts: int, modules: int, word: str) -> None:
    """HOSTS=0, more than the profile has, and a number of modules that four decoders cannot map."""
    with pytest.raises(MisuseError, match=word):
        profiles.load("pfma").parameters(hosts, modules)


def test_units_convert_exactly() -> None:
    """225 Gb/s and 28.125 GB/s are the same rate."""
    gigabits = Rate(value=225, unit="Gb/s", source="test")
    assert gigabits.canonical == Rate(value=28.125, unit="GB/s", source="test").canonical == 450
