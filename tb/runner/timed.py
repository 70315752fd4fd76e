"""Calibration of the timed port: which file belongs to a request, and the model that it gives.

`prismem calibrate` measures on the RTL and writes the file; it is found by the profile's numbers and by the sources of
the hardware, so one that belongs to other numbers or to other hardware is never used.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from prismem.errors import MisuseError
from prismem.lib.timed import TimedModel, model
from prismem.models.profile import Profile
from prismem.models.profile_tables import HBM_OFF, SUB_CHANNELS, Ddr, Fabric, Hbm
from prismem.paths import BUILD, ROOT
from prismem.tb.job import Request

FOLDER = BUILD / "calibration"
PS_PER_NS = 1000
LINE_UNITS = 64 * 16 * PS_PER_NS  # of a rate in 1/16 B/ns: ps of a line
# Of rtl/pf_mem/pf_mem.sv:
HBM_ROW_LINES, DDR_ROW_LINES = 16, 64
HBM_AHEAD_NS, DDR_AHEAD_NS = 64, 160
HBM_HORIZON_NS, DDR_HORIZON_NS = 256, 512


@cache
def hardware_digest() -> str:
    """Hash of the sources of the hardware and its bench."""
    from prismem.tb.runner.build import hdl_sources  # builds know results, and results know specs, which ask here

    digest = hashlib.sha256()
    for path in sorted(hdl_sources()):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def calibration_file(profile: Profile) -> Path:
    """Where the calibration of a profile with these numbers lies."""
    facts = json.dumps([profile.straps(1), profile.parameters(1, 1), hardware_digest()], sort_keys=True)
    return FOLDER / f"{profile.name}-{hashlib.sha256(facts.encode()).hexdigest()[:12]}.json"


def check(request: Request) -> None:
    """Raise MisuseError unless there is a calibration for this request."""
    if not calibration_file(request.profile).exists():
        raise MisuseError(
            f"PORT: 'timed' has no calibration for profile '{request.profile.name}' with these numbers on this "
            f"hardware; measure one with 'prismem calibrate --profile {request.profile.name}'"
        )


def _dram(media: Hbm | Ddr, data_ns: int) -> dict[str, int]:
    ddr = isinstance(media, Ddr)
    split = SUB_CHANNELS if ddr else 1
    return {
        "channels": media.channels.canonical * split,
        "banks": media.banks.canonical // split,
        "row_lines": DDR_ROW_LINES if ddr else HBM_ROW_LINES,
        "row_to_column_ns": media.row_to_column_time.canonical,
        "precharge_ns": media.precharge_time.canonical,
        "activate_ns": media.activate_time.canonical,
        "read_precharge_ns": media.read_precharge_time.canonical,
        "write_precharge_ns": media.write_precharge_time.canonical,
        "column_ns": media.column_time.canonical,
        "data_ns": data_ns,
        "bus_ps": LINE_UNITS * split // media.rate.canonical,
        "idle_close_ns": media.idle_close_time.canonical,
        "ahead_ns": DDR_AHEAD_NS if ddr else HBM_AHEAD_NS,
        "horizon_ns": DDR_HORIZON_NS if ddr else HBM_HORIZON_NS,
        "refresh_interval_ns": media.refresh_interval.canonical,
        "refresh_ns": media.refresh_time.canonical,
        "refresh_groups": media.refresh_groups.canonical,
        "refresh_step_ns": media.refresh_step.canonical,
        "refresh_offset_ns": media.refresh_offset.canonical,
    }


def numbers(profile: Profile, modules: int, measured: dict[str, Any]) -> dict[str, Any]:
    """All numbers of the model: structure and DRAM rules from the profile, delays and occupations as measured."""
    decoders = modules // profile.hdm_ways(modules)
    return measured | {
        "modules": modules,
        "ways": profile.hdm_ways(modules),
        "granularity_b": profile.hdm.granularity.canonical,
        "decoder_bytes": profile.hdm_bytes(modules) // decoders,
        "shared_path": int(profile.rack.fabric is Fabric.SWITCH),
        "hbm_on": int(profile.hbm.mode.canonical != HBM_OFF),
        "hbm_sets": profile.hbm.sets.canonical,
        "hbm_ways": profile.hbm.ways.canonical,
        "hbm_sector_lines": profile.hbm.sector_lines.canonical,
        "hbm": _dram(profile.hbm, measured["hbm_data_ns"]),
        "ddr": _dram(profile.ddr, measured["ddr_data_ns"]),
    }


def load(request: Request) -> TimedModel:
    """The model of a request. Raises MisuseError without a calibration."""
    check(request)
    measured = json.loads(calibration_file(request.profile).read_text(encoding="utf-8"))["measured"]
    return model(numbers(request.profile, request.modules, measured))
