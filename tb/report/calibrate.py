"""Calibration of the timed port: runs of the RTL at one host and one module, and the numbers of the model from them.

- Idle accesses give the delays of all stages: the medians of the probes' stamps.
- First reads of lines give the time of DDR5.
- Saturated reads, writes and an equal mix give what a line occupies of the lightpath, each way.
- Saturated reads and writes with the host's link slowed down give what a line occupies of that link.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from prismem.errors import PrismemError
from prismem.models.flit import FLIT_BYTES, messages_per_flit
from prismem.models.frame import LINE_BYTES, frame_bytes, response_item_bytes
from prismem.models.profile import Profile
from prismem.models.profile_tables import HBM_OFF, Fabric
from prismem.tb.runner.execute import execute
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import load_profile, make_spec
from prismem.tb.runner.timed import PS_PER_NS, calibration_file
from prismem.tb.runner.toolchain import commit, tool_versions

KINDS = ("read", "write")
SLOW_CXL_GB_S = 8  # of the host's link, so that nothing else is the limit
SATURATED = {"outstanding": "256", "random": "true", "lines": "1024", "requests": "30000"}
STAGES = {
    "cxl_request_ns": "cxl_request",
    "decode_ns": "nic_decode",
    "serialize_ns": "serialize",
    "flight_ns": "flight",
    "port_ns": "port_queue",
    "return_ns": "media_return",
    "serialize_back_ns": "rsp_serialize",
    "flight_back_ns": "rsp_flight",
    "cxl_response_ns": "cxl_response",
}


def _run(profile: str, test: str, options: dict[str, str], sets: tuple[str, ...] = ()) -> Result:
    result = execute(make_spec(test, port="rtl", hosts=1, modules=1, profile=profile, sets=sets, options=options))
    if not result.passed:
        raise PrismemError(f"calibrate: {result.text()}")
    return result


def _line_ps(result: Result) -> float:
    """Mean time of a line on the one path of a saturated run."""
    return float(LINE_BYTES * PS_PER_NS / result.metrics["paths"][0]["gb_s"])


def _path_ps(profile: Profile, read_ps: float, write_ps: float, mix_ps: float) -> dict[str, list[int]]:
    """What a line occupies of a path: reads fill the way back, writes the way out; a mix tells a read's share of it."""
    if profile.rack.fabric is Fabric.DIRECT:  # no path: the media are the limit, and have queues of their own
        return {"path_out_ps": [0, 0], "path_back_ps": [0, 0]}
    read_out = max(0.0, 2 * mix_ps - write_ps)  # the way out carries both halves of the mix
    tag_share = _completion_share(profile)
    return {
        "path_out_ps": [round(min(read_out, read_ps)), round(write_ps)],
        "path_back_ps": [round(read_ps), round(read_ps * tag_share)],
    }


def _completion_share(profile: Profile) -> float:
    """Bytes of a completion over those of read data, in full frames or messages (computed)."""
    if profile.rack.fabric is Fabric.SWITCH:
        return profile.switch.header_message.canonical / profile.switch.line_message.canonical
    overhead = frame_bytes(profile, []) / 4
    return (overhead + response_item_bytes(profile, "write")) / (overhead + response_item_bytes(profile, "read"))


def _cxl_ps(profile: Profile, slow: Mapping[str, Result]) -> dict[str, list[int]]:
    """What a line occupies of the host's link: data as measured on the slow link, headers by the packing of flits."""
    scale = SLOW_CXL_GB_S * 16 / profile.cxl.rate.canonical
    flit_ps = FLIT_BYTES * 16 * PS_PER_NS / profile.cxl.rate.canonical
    request, completion = (flit_ps / messages_per_flit(first, each, Fraction(0)) for first, each in ((1, 1), (2, 3)))
    return {
        "cxl_out_ps": [round(request), round(_line_ps(slow["write"]) * scale)],
        "cxl_back_ps": [round(_line_ps(slow["read"]) * scale), round(completion)],
    }


def _delays(profile: Profile, idle: Result, first: Result) -> dict[str, Any]:
    """Medians of the stages on an idle machine; of the media, what is left behind the row's own time."""
    stages = {kind: idle.metrics["latency"][kind]["stages_ns"] for kind in KINDS}
    found_ns: dict[str, Any] = {
        name: [round(stages[kind][stage]["p50"]) for kind in KINDS] for name, stage in STAGES.items()
    }
    has_hbm = profile.hbm.mode.canonical != HBM_OFF
    hit_ns = round(stages["read"]["media"]["p50"])
    miss_ns = round(first.metrics["latency"]["read"]["stages_ns"]["media"]["p50"]) if has_hbm else hit_ns
    found_ns["commit_ns"] = round(stages["write"]["media"]["p50"])
    found_ns["ddr_data_ns"] = miss_ns - profile.ddr.row_to_column_time.canonical
    found_ns["hbm_data_ns"] = max(1, hit_ns - profile.hbm.row_to_column_time.canonical)
    return found_ns


def calibrate(name: str) -> Path:
    """Measure a profile and write its calibration; returns the file. Raises PrismemError when a run fails."""
    profile = load_profile(name)
    slow_link = (f"cxl.rate={SLOW_CXL_GB_S} GB/s",)
    idle = _run(name, "idle_latency", {})
    first = _run(name, "traffic", {"outstanding": "1", "lines": "4096", "requests": "3000"})
    shares = {"read": "1000", "write": "0", "mix": "500"}
    full = {key: _run(name, "traffic", SATURATED | {"read_permille": share}) for key, share in shares.items()}
    slow = {key: _run(name, "traffic", SATURATED | {"read_permille": shares[key]}, slow_link) for key in KINDS}
    runs = [idle, first, *full.values(), *slow.values()]
    content = {
        "profile": profile.name,
        "origin": "measured on the RTL, 1 host and 1 module; what headers alone occupy is computed",
        "measured": _delays(profile, idle, first)
        | _path_ps(profile, *(_line_ps(full[key]) for key in shares))
        | _cxl_ps(profile, slow),
        "runs": [run.replay for run in runs],
        "commit": commit(),
        "tools": tool_versions(),
    }
    path = calibration_file(profile)
    write_atomic(path, json.dumps(content, indent=1) + "\n")
    return path
