"""Figures of one host on one module, computed from a profile: what each number of a profile moves, and by how much.

Latencies are of an idle machine (models/latency.py); rates are the least of all bounds: links, tags, credits, and the
banks and buses of the memory (models/dram.py). Times are in ns, rates in GB/s of payload.
"""

from fractions import Fraction
from typing import Any

from prismem.models import dram, latency
from prismem.models.flit import packing_bound_gb_per_s
from prismem.models.frame import LINE_BYTES, Kind, single_bytes
from prismem.models.profile import Profile
from prismem.models.profile_tables import HBM_MEMORY, HBM_OFF, Ddr, Fabric, Hbm, Section
from prismem.models.quantity import Quantity

ROW_LINES: dict[type[Section], int] = {Hbm: 16, Ddr: 64}  # lines of a DRAM row, of pf_mem.sv
CXL_REPLAY_SLACK_NS = 16  # of cxl_channel.sv: processing at both ends of a round trip


def visible_ns(profile: Profile) -> float:
    """From the offer of a write to its being visible."""
    stages = latency.idle_stages_ns(profile, "write")
    order = list(stages)
    out_ns = sum(stages[stage] for stage in order[: order.index("module_return")])
    module = profile.module
    late_ns = module.posted_time.canonical if module.completion.canonical else 0
    return out_ns + late_ns


def behind_fence_ns(profile: Profile) -> float:
    """From the return of the fence behind a flush to its being visible; 0 unless completion is posted."""
    if not profile.module.completion.canonical:
        return 0.0
    return max(0.0, visible_ns(profile) - latency.idle_ns(profile, "write") + profile.hbm.commit_time.canonical)


def read_ns(profile: Profile) -> float:
    """An idle read of the first lines of the pool."""
    return latency.idle_ns(profile, "read")


def miss_ns(profile: Profile) -> float:
    """An idle read of a line that HBM does not have."""
    return latency.idle_ns(profile, "read") - latency.media_read_ns(profile) + latency.ddr_read_ns(profile)


def _switch_loop_ns(profile: Profile) -> float:
    """Least time until the credit of a hop is back."""
    ns = latency.serialization_ns(profile.switch.line_message.canonical, profile.switch.rate)
    return float(ns + max(hop.canonical for hop in profile.switch.hop_times()))


def _path_loop_ns(profile: Profile, kind: Kind, out: bool) -> float:
    """Least time until the credit of a lightpath is back: there and back, and what it waits for a frame to ride in. At
    the module that is the answer, at the adapter the next request, which the host makes when it has the answer; or an
    acknowledgement of its own if that goes first."""
    path, stages = profile.path, latency.idle_stages_ns(profile, kind)
    frames_ns = sum(16 * size / path.rate.canonical for size in single_bytes(profile, kind))
    module_ns = stages["module_port"] + stages["media"] + stages["module_return"]
    host_ns = stages["cxl_response"] + stages["cxl_request"] + stages["decode"]
    wait_ns = min(path.ack_time.canonical, module_ns if out else host_ns)
    return 2 * (path.phy_time.canonical + path.fibre_length.canonical) + frames_ns + wait_ns


def _credits_gb_s(profile: Profile, reads: float) -> float:
    """Payload that credits allow; a class that carries nothing allows everything."""
    if profile.rack.fabric is Fabric.DIRECT:
        return float("inf")
    if profile.rack.fabric is Fabric.SWITCH:
        return profile.switch.credits.canonical * LINE_BYTES / _switch_loop_ns(profile)
    path = profile.path
    classes: list[tuple[Quantity, Kind, bool]] = []
    if reads:
        classes += [(path.request_credits, "read", True), (path.read_credits, "read", False)]
    if reads < 1:
        classes += [(path.write_credits, "write", True), (path.completion_credits, "write", False)]
    return min(count.canonical * LINE_BYTES / _path_loop_ns(profile, kind, out) for count, kind, out in classes)


def _media_gb_s(profile: Profile, reads: float) -> list[float]:
    """Payload that buses and banks of the memory allow."""
    if profile.hbm.mode.canonical == HBM_MEMORY:
        bounds = dram.media_bounds(profile.hbm, Fraction(reads), 1 - Fraction(reads))
        return [float(bound) for bound in bounds]
    return list(dram.module_bounds_gb_per_s(profile, reads).values())


def rate_gb_s(profile: Profile, reads: float, outstanding: int) -> float:
    """Payload of one host on one module: the least of its bounds, with so many lines in flight that share no row."""
    kind: Any = "read" if reads else "write"
    bounds = [
        latency.path_bound_gb_per_s(profile, reads),
        packing_bound_gb_per_s(profile, reads),
        latency.window_bound_gb_per_s(profile, kind, min(outstanding, profile.nic.tags.canonical)),
        _credits_gb_s(profile, reads),
        *_media_gb_s(profile, reads),
    ]
    return min(bounds)


def row_rate_gb_s(profile: Profile, outstanding: int) -> float:
    """Reads line after line, so many in flight: a row is opened once, if it stays open from one line to the next."""
    media: Hbm | Ddr = profile.ddr if profile.hbm.mode.canonical == HBM_OFF else profile.hbm
    banks = media.channels.canonical * media.banks.canonical
    lines = ROW_LINES[type(media)]
    column_ns, cycle_ns = media.column_time.canonical, dram.bank_cycle_ns(media, False)
    open_ns = media.row_to_column_time.canonical + media.read_precharge_time.canonical + media.precharge_time.canonical
    row_ns = max((lines - 1) * column_ns + open_ns, cycle_ns)
    close_ns = media.idle_close_time.canonical  # 0: never
    closed_ns = close_ns + media.precharge_time.canonical + media.row_to_column_time.canonical
    stays_open = close_ns == 0 or close_ns >= column_ns
    line_ns = row_ns / lines if stays_open else max(cycle_ns, column_ns, closed_ns)
    window_gb_s = latency.window_bound_gb_per_s(profile, "read", outstanding)
    return min(_link_rate(profile), window_gb_s, banks * LINE_BYTES / line_ns)


def _link_rate(profile: Profile) -> float:
    return min(latency.path_bound_gb_per_s(profile, 1.0), packing_bound_gb_per_s(profile, 1.0))


def dead_path_ns(profile: Profile) -> float:
    """A path is given up when, as often as it may, nothing was heard for a round trip and the replay time."""
    path = profile.path
    way_ns = path.phy_time.canonical + path.fibre_length.canonical
    return path.replay_limit.canonical * (2 * way_ns + path.replay_time.canonical)


def dead_cxl_ns(profile: Profile) -> float:
    """The same of the host's link, whose far end may wait for company before it acknowledges."""
    cxl = profile.cxl
    round_trip_ns = cxl.request_time.canonical + cxl.response_time.canonical + CXL_REPLAY_SLACK_NS
    return cxl.replay_limit.canonical * (round_trip_ns + cxl.ack_time.canonical + cxl.replay_time.canonical)


def messages_an_access(profile: Profile, ack: Quantity) -> float:
    """Frames or flits of an idle access, read or write: request, response, its acknowledgement, and one of the request
    unless the response comes before the far end has waited enough for company."""
    parts = [latency.idle_stages_ns(profile, "read"), latency.idle_stages_ns(profile, "write")]
    if ack is profile.cxl.ack_time:
        waits = [latency.idle_parts_ns(profile, kind)["memory"] for kind in ("read", "write")]
    else:
        waits = [stages["module_port"] + stages["media"] + stages["module_return"] for stages in parts]
    return 3 + sum(wait > ack.canonical for wait in waits) / len(waits)


def miss_share(profile: Profile, lines: int, requests: int) -> float:
    """Reads line after line, round and round: all miss when the cache is smaller, else the first round."""
    hbm = profile.hbm
    room = hbm.sets.canonical * hbm.ways.canonical * hbm.sector_lines.canonical
    return 1.0 if room < lines else lines / requests
