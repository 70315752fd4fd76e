"""Profiles: one TOML file describes one machine; this module turns it into typed, frozen objects.

From a profile follow the structural parameters of the RTL (`parameters`), the delays and rates that the bench reads at
time 0 (`straps`), and the input of the latency and bandwidth models. Every number carries its unit and its source.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from prismem.errors import MisuseError, ProfileError
from prismem.models import profile_problems
from prismem.models.profile_tables import (
    FABRIC_TABLES,
    MIB,
    WAYS,
    Cxl,
    Ddr,
    Fabric,
    Frame,
    Hbm,
    Hdm,
    Lightpath,
    Module,
    Nic,
    Rack,
    Section,
    Switch,
)
from prismem.models.quantity import Quantity
from prismem.paths import PROFILES, relative

DECODERS_MAX = 4  # HDM decoders of a PF-NIC
SHORT_CREDITS_MAX, LONG_HEADER_B = 127, 6  # pf_link_pkg: 7-bit counts in 4 B, 11-bit counts in 6 B
DRAM_STRAPS = {  # strap of one kind of DRAM -> key of its table
    "cas_ns": "cas_time",
    "rcd_ns": "row_to_column_time",
    "rp_ns": "precharge_time",
    "ras_ns": "activate_time",
    "rtp_ns": "read_precharge_time",
    "wr_ns": "write_precharge_time",
    "ccd_ns": "column_time",
    "turn_ns": "turn_time",
    "rate_b16": "rate",
    "idle_close_ns": "idle_close_time",
    "refi_ns": "refresh_interval",
    "rfc_ns": "refresh_time",
    "ref_groups": "refresh_groups",
    "ref_step_ns": "refresh_step",
    "ref_offset_ns": "refresh_offset",
}


class Profile(Section):
    """One machine. `load` is the way in."""

    name: str
    description: str
    rack: Rack
    cxl: Cxl
    nic: Nic
    # Present where the fabric has them (FABRIC_TABLES), which `_fits` makes sure of.
    path: Lightpath = Field(default=None, validate_default=False)  # type: ignore[assignment]
    frame: Frame = Field(default=None, validate_default=False)  # type: ignore[assignment]
    switch: Switch = Field(default=None, validate_default=False)  # type: ignore[assignment]
    module: Module
    hbm: Hbm
    ddr: Ddr
    hdm: Hdm

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self._check_tables()
        if self.hdm.window.canonical > self.module.capacity.canonical:
            raise ValueError(
                f"hdm.window: {self.hdm.window} is more than module.capacity {self.module.capacity}; lower the window"
            )
        if self.hdm.base.canonical % (256 * MIB) or self.hdm.window.canonical % (2 * MIB):
            raise ValueError(
                f"hdm.base {self.hdm.base}, hdm.window {self.hdm.window}: not aligned; "
                "use multiples of 256 MiB and 2 MiB"
            )
        if self.path and self.path.phy_time.canonical + self.path.fibre_length.canonical > 65_535:
            raise ValueError(
                f"path.phy_time {self.path.phy_time} and path.fibre_length {self.path.fibre_length}: "
                "more than 65535 ns together; shorten the fibre"
            )
        if self.path and self.frame:
            for key, credits in self.path.credits():
                if credits.canonical > SHORT_CREDITS_MAX and self.frame.header.canonical < LONG_HEADER_B:
                    raise ValueError(
                        f"path.{key}: a frame header of {self.frame.header} counts to {SHORT_CREDITS_MAX}, not to "
                        f"{credits}; set frame.header='{LONG_HEADER_B} B', or fewer credits"
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

    def _check_tables(self) -> None:
        fabric = self.rack.fabric
        for table in sorted(frozenset().union(*FABRIC_TABLES.values())):
            present, wanted = getattr(self, table) is not None, table in FABRIC_TABLES[fabric]
            if wanted and not present:
                raise ValueError(f"{table}: missing; add the table [{table}], which rack.fabric '{fabric}' needs")
            if present and not wanted:
                raise ValueError(f"{table}: rack.fabric '{fabric}' has none; remove the table [{table}]")
        if fabric is Fabric.DIRECT and self.rack.modules.canonical != 1:
            raise ValueError(
                f"rack.modules: {self.rack.modules} with rack.fabric '{fabric}', whose heads share 1; use 1"
            )

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
            "Hops": self.switch.hops.canonical if self.switch else 1,
            "Hosts": hosts,
            "Modules": modules,
            "NicTags": self.nic.tags.canonical,
            "PathQueueDepth": self.nic.queue_depth.canonical,
            "PathReach": self.path_reach,
            "HbmChannels": self.hbm.channels.canonical,
            "HbmBanks": self.hbm.banks.canonical,
            "HbmSets": self.hbm.sets.canonical,
            "HbmWays": self.hbm.ways.canonical,
            "HbmSectorLines": self.hbm.sector_lines.canonical,
            "DdrChannels": self.ddr.channels.canonical,
            "DdrBanks": self.ddr.banks.canonical,
        }

    @property
    def path_reach(self) -> int:
        """Binary logarithm of the depth of a lightpath's buffers over the least, which has 127 credits a class."""
        most = max(quantity.canonical for _, quantity in self.path.credits()) if self.path else 1
        return max(0, (most >> 7).bit_length())

    def straps(self, modules: int | None = None) -> dict[str, int]:
        """Delays, rates and the decoder as the bench reads them at time 0; `_b16` is 1/16 byte a nanosecond."""
        count = self.rack.modules.canonical if modules is None else modules
        quantities: dict[str, Quantity] = {
            "cxl_req_ns": self.cxl.request_time,
            "cxl_rsp_ns": self.cxl.response_time,
            "cxl_rate_b16": self.cxl.rate,
            "cxl_ack_ns": self.cxl.ack_time,
            "cxl_replay_ns": self.cxl.replay_time,
            "cxl_replay_limit": self.cxl.replay_limit,
            "nic_decode_ns": self.nic.decode_time,
            "nic_timeout_ns": self.nic.timeout,
            "mem_port_ns": self.module.port_time,
            "mem_return_ns": self.module.return_time,
            "mem_posted": self.module.completion,
            "mem_posted_ns": self.module.posted_time,
            "mem_write_unit_b": self.module.write_unit,
            "mem_half_ns": self.module.half_time,
            "hbm_mode": self.hbm.mode,
            "hbm_commit_ns": self.hbm.commit_time,
            "hdm_base": self.hdm.base,
            "hdm_gran_b": self.hdm.granularity,
        }
        quantities |= self._fabric_quantities()
        for kind, media in (("hbm", self.hbm), ("ddr", self.ddr)):
            quantities |= {f"{kind}_{name}": getattr(media, key) for name, key in DRAM_STRAPS.items()}
        straps = {name: quantity.canonical for name, quantity in quantities.items()}
        straps["hdm_size_mib"] = self.hdm_bytes(count) // MIB
        straps["hbm_base_mib"] = self.hbm.base.canonical // MIB
        straps["hdm_ways"] = self.hdm_ways(count)
        straps["module_mib"] = self.module.capacity.canonical // MIB
        return straps

    def _fabric_quantities(self) -> dict[str, Quantity]:
        """Straps of the tables that only some fabrics have."""
        quantities: dict[str, Quantity] = {}
        if self.path:
            quantities |= {
                "path_rate_b16": self.path.rate,
                "path_phy_ns": self.path.phy_time,
                "path_flight_ns": self.path.fibre_length,
                "path_ack_ns": self.path.ack_time,
                "path_replay_ns": self.path.replay_time,
                "path_replay_limit": self.path.replay_limit,
                "path_request_credits": self.path.request_credits,
                "path_write_credits": self.path.write_credits,
                "path_read_credits": self.path.read_credits,
                "path_completion_credits": self.path.completion_credits,
                "frame_head_b": self.frame.header,
                "frame_crc_b": self.frame.crc,
                "frame_address_b": self.frame.address_and_tag,
                "frame_tag_b": self.frame.tag,
                "frame_enables_b": self.frame.byte_enables,
            }
        if self.switch:
            times = [self.switch.hop1_time, self.switch.hop2_time, self.switch.hop3_time, self.switch.hop4_time]
            quantities |= {
                "sw_rate_b16": self.switch.rate,
                "sw_credits": self.switch.credits,
                "sw_head_b": self.switch.header_message,
                "sw_line_b": self.switch.line_message,
                **{f"sw_hop{hop}_ns": time for hop, time in enumerate(times, 1)},
            }
        return quantities


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
