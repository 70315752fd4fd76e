"""Profiles: one TOML file describes one machine; this module turns it into typed, frozen objects.

From a profile follow the structural parameters of the RTL (`parameters`), the delays and rates that the bench reads at
time 0 (`straps`), and the input of the latency and bandwidth models. Every number carries its unit and its source.
"""

import tomllib
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from prismem.errors import MisuseError, ProfileError
from prismem.models import profile_problems
from prismem.models.quantity import Count, Length, Quantity, Rate, Size, Time
from prismem.paths import PROFILES, relative

WAYS = (1, 2, 4, 8, 16)
GRANULARITIES_B = tuple(256 << i for i in range(7))
DECODERS_MAX = 4  # HDM decoders of a PF-NIC
MIB = 1 << 20


def _within(low: int, high: int) -> AfterValidator:
    def check(quantity: Quantity) -> Quantity:
        if not low <= quantity.canonical <= high:
            first, last = quantity.in_my_unit(low), quantity.in_my_unit(high)
            number, _, unit = first.partition(" ")
            limits = f"{number}..{last}" if unit == last.partition(" ")[2] else f"{first}..{last}"
            raise ValueError(f"{quantity} is outside {limits}; choose a value inside")
        return quantity

    return AfterValidator(check)


def _one_of(choices: tuple[int, ...]) -> AfterValidator:
    def check(quantity: Quantity) -> Quantity:
        if quantity.canonical not in choices:
            raise ValueError(f"{quantity} is not possible; use one of {', '.join(map(quantity.in_my_unit, choices))}")
        return quantity

    return AfterValidator(check)


Delay = Annotated[Time, _within(0, 65_535)]
Stage = Annotated[Time, _within(1, 65_535)]  # a stage of the RTL that cannot be left out
Interval = Annotated[Time, _within(0, 65_535)]  # 0: never
Speed = Annotated[Rate, _within(16, 65_535)]
Fibre = Annotated[Length, _within(0, 50_000)]
FrameSize = Annotated[Size, _within(1, 4_095)]
DataFrameSize = Annotated[Size, _within(64, 4_095)]
Few = Annotated[Count, _within(1, 16)]
PowerOf2 = Annotated[Count, _one_of(tuple(1 << i for i in range(17)))]


class Section(BaseModel):
    """A table of a profile."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fabric(StrEnum):
    """What lies between host adapters and memory modules; the order is that of the bench's parameter."""

    PHOTONIC = "photonic"


class Rack(Section):
    """What the machine is, and how many of each there are at most."""

    fabric: Fabric = Fabric.PHOTONIC
    hosts: Few
    modules: Few


class Cxl(Section):
    """Link between a host's port and its NIC, each direction."""

    request_time: Delay
    response_time: Delay
    rate: Speed


class Nic(Section):
    """Host adapter."""

    decode_time: Stage
    tags: Annotated[Count, _one_of((64, 128, 256, 512, 1024, 2048, 4096))]
    queue_depth: PowerOf2


class Lightpath(Section):
    """Lightpath between one adapter and one module, each direction."""

    rate: Speed
    phy_time: Delay
    fibre_length: Fibre
    credits: Annotated[Count, _within(1, 128)]  # depth of the ring that delays frames


class Frame(Section):
    """Bytes on the lightpath, data included."""

    read_request: FrameSize
    write_request: DataFrameSize
    read_response: DataFrameSize
    write_response: FrameSize


class Module(Section):
    """Memory module without its media."""

    port_time: Delay
    return_time: Stage
    capacity: Annotated[Size, _within(2 * MIB, 2 << 40)]


class Hbm(Section):
    """HBM front of a module: a write-through cache."""

    cas_time: Stage
    row_to_column_time: Delay
    precharge_time: Delay
    commit_time: Stage
    idle_close_time: Delay
    refresh_interval: Interval
    refresh_time: Delay
    rate: Speed
    channels: PowerOf2
    banks: PowerOf2
    sets: PowerOf2
    ways: PowerOf2
    sector_lines: PowerOf2


class Ddr(Section):
    """DDR5 behind the HBM front."""

    cas_time: Stage
    row_to_column_time: Delay
    precharge_time: Delay
    refresh_interval: Interval
    refresh_time: Delay
    rate: Speed
    channels: PowerOf2
    banks: PowerOf2


class Hdm(Section):
    """The decoders that map the pool: `window` bytes of every module, as widely interleaved as `ways` allows."""

    base: Annotated[Size, _within(0, 1 << 51)]
    window: Annotated[Size, _within(2 * MIB, 2 << 40)]
    ways: Annotated[Count, _one_of(WAYS)]
    granularity: Annotated[Size, _one_of(GRANULARITIES_B)]


class Profile(Section):
    """One machine. `load` is the way in."""

    name: str
    description: str
    rack: Rack
    cxl: Cxl
    nic: Nic
    path: Lightpath
    frame: Frame
    module: Module
    hbm: Hbm
    ddr: Ddr
    hdm: Hdm

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.hdm.window.canonical > self.module.capacity.canonical:
            raise ValueError(
                f"hdm.window: {self.hdm.window} is more than module.capacity {self.module.capacity}; lower the window"
            )
        if self.hdm.base.canonical % (256 * MIB) or self.hdm.window.canonical % (2 * MIB):
            raise ValueError(
                f"hdm.base {self.hdm.base}, hdm.window {self.hdm.window}: not aligned; "
                "use multiples of 256 MiB and 2 MiB"
            )
        if self.path.phy_time.canonical + self.path.fibre_length.canonical > 65_535:
            raise ValueError(
                f"path.phy_time {self.path.phy_time} and path.fibre_length {self.path.fibre_length}: "
                "more than 65535 ns together; shorten the fibre"
            )
        for name in ("hbm", "ddr"):
            media: Hbm | Ddr = getattr(self, name)
            interval_ns = media.refresh_interval.canonical
            if interval_ns and media.refresh_time.canonical >= interval_ns:
                raise ValueError(
                    f"{name}.refresh_time: {media.refresh_time} is not below {name}.refresh_interval "
                    f"{media.refresh_interval}; the memory would never serve"
                )
        return self

    def check_size(self, hosts: int, modules: int) -> None:
        """Raise MisuseError unless a machine of this size can be built from the profile."""
        for field, value, quantity in (("HOSTS", hosts, self.rack.hosts), ("MODULES", modules, self.rack.modules)):
            if not 1 <= value <= quantity.canonical:
                raise MisuseError(
                    f"{field}: {value} is outside 1..{quantity.canonical}, what profile '{self.name}' has; "
                    f"choose 1..{quantity.canonical}{' or another profile' if value > 0 else ''}"
                )
        if not self._mappable(modules):
            possible = [count for count in range(1, self.rack.modules.canonical + 1) if self._mappable(count)]
            raise MisuseError(
                f"MODULES: {modules} needs more than {DECODERS_MAX} HDM decoders at {self.hdm_ways(modules)} ways; "
                f"use one of {', '.join(map(str, possible))}"
            )

    def _mappable(self, modules: int) -> bool:
        return modules // self.hdm_ways(modules) <= DECODERS_MAX

    def hdm_ways(self, modules: int) -> int:
        """Interleave of a machine with `modules` modules: the widest up to the profile's that all decoders can have."""
        return max(ways for ways in WAYS if ways <= self.hdm.ways.canonical and modules % ways == 0)

    def hdm_bytes(self, modules: int) -> int:
        """Size of the pool in host addresses."""
        return self.hdm.window.canonical * modules

    def parameters(self, hosts: int, modules: int) -> dict[str, int]:
        """Structural parameters of the bench: what a build is made for."""
        self.check_size(hosts, modules)
        return {
            "Fabric": list(Fabric).index(self.rack.fabric),
            "Hosts": hosts,
            "Modules": modules,
            "NicTags": self.nic.tags.canonical,
            "PathQueueDepth": self.nic.queue_depth.canonical,
            "HbmChannels": self.hbm.channels.canonical,
            "HbmBanks": self.hbm.banks.canonical,
            "HbmSets": self.hbm.sets.canonical,
            "HbmWays": self.hbm.ways.canonical,
            "HbmSectorLines": self.hbm.sector_lines.canonical,
            "DdrChannels": self.ddr.channels.canonical,
            "DdrBanks": self.ddr.banks.canonical,
        }

    def straps(self, modules: int | None = None) -> dict[str, int]:
        """Delays, rates and the decoder as the bench reads them at time 0; `_b16` is 1/16 byte a nanosecond."""
        count = self.rack.modules.canonical if modules is None else modules
        quantities: dict[str, Quantity] = {
            "cxl_req_ns": self.cxl.request_time,
            "cxl_rsp_ns": self.cxl.response_time,
            "cxl_rate_b16": self.cxl.rate,
            "nic_decode_ns": self.nic.decode_time,
            "path_rate_b16": self.path.rate,
            "path_phy_ns": self.path.phy_time,
            "path_flight_ns": self.path.fibre_length,
            "path_credits": self.path.credits,
            "frame_rd_req_b": self.frame.read_request,
            "frame_wr_req_b": self.frame.write_request,
            "frame_rd_rsp_b": self.frame.read_response,
            "frame_wr_rsp_b": self.frame.write_response,
            "mem_port_ns": self.module.port_time,
            "mem_return_ns": self.module.return_time,
            "hbm_cas_ns": self.hbm.cas_time,
            "hbm_rcd_ns": self.hbm.row_to_column_time,
            "hbm_rp_ns": self.hbm.precharge_time,
            "hbm_commit_ns": self.hbm.commit_time,
            "hbm_rate_b16": self.hbm.rate,
            "hbm_idle_close_ns": self.hbm.idle_close_time,
            "hbm_refi_ns": self.hbm.refresh_interval,
            "hbm_rfc_ns": self.hbm.refresh_time,
            "ddr_cas_ns": self.ddr.cas_time,
            "ddr_rcd_ns": self.ddr.row_to_column_time,
            "ddr_rp_ns": self.ddr.precharge_time,
            "ddr_rate_b16": self.ddr.rate,
            "ddr_refi_ns": self.ddr.refresh_interval,
            "ddr_rfc_ns": self.ddr.refresh_time,
            "hdm_base": self.hdm.base,
            "hdm_gran_b": self.hdm.granularity,
        }
        straps = {name: quantity.canonical for name, quantity in quantities.items()}
        straps["hdm_size_mib"] = self.hdm_bytes(count) // MIB
        straps["hdm_ways"] = self.hdm_ways(count)
        straps["module_mib"] = self.module.capacity.canonical // MIB
        return straps


def names() -> list[str]:
    """Names of the profiles of the checkout."""
    return sorted(path.stem for path in PROFILES.glob("*.toml"))


def load(name_or_path: str, overrides: Iterable[str] = ()) -> Profile:
    """The profile of that name (or at that path, when it ends in .toml) with `key=value unit` overrides applied.

    Raises ProfileError that names the file or the override, the key, the value and the cure.
    """
    is_path = name_or_path.endswith(".toml")
    path = Path(name_or_path) if is_path else PROFILES / f"{name_or_path}.toml"
    label = relative(path)
    asked = label if is_path else name_or_path
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        problem = ": no such file" if is_path else " is unknown"
        raise ProfileError(f"PROFILE: '{asked}'{problem}; the profiles are {', '.join(names())}") from None
    except OSError as error:
        raise ProfileError(f"PROFILE: '{asked}': {error.strerror}; give a profile's name or file") from None
    except (ValueError, RecursionError) as error:  # broken TOML, not UTF-8, numbers and nesting without end
        raise ProfileError(f"{label}: not TOML: {str(error).splitlines()[0]}; mend the file") from None
    try:
        profile = Profile.model_validate(raw)
    except ValidationError as error:
        raise ProfileError(f"{label}: {profile_problems.first_problem(Profile, error)}") from None
    sets = list(overrides)
    if not sets:
        return profile
    for override in sets:
        profile_problems.apply_override(raw, override)
    try:
        return Profile.model_validate(raw)
    except ValidationError as error:
        # The file alone is right, so an override is wrong: the one of that key, or all when keys do not fit together.
        problem = profile_problems.first_problem(Profile, error)
        guilty = [text for text in sets if problem.startswith(text.partition("=")[0].strip())] or sets
        raise ProfileError(f"{' '.join(f'--set {text}' for text in guilty)}: {problem}") from None
