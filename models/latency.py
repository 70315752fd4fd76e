"""Idle latency by stage and bandwidth bounds, computed from a profile. The RTL is measured against these.

A frame or flit of b bytes on an idle link of r bytes a nanosecond occupies it for ceil(b / r) ns, as the core clock
is 1 ns. On the CXL link a flit of 256 bytes carries the message, whatever its size. A stage that only delays adds its
time. So, for one line on an idle machine:

    request   T1 - T0 = ceil(256 B / cxl.rate) + cxl.request_time
    memory    T3 - T1 = nic.decode_time
                      + way to the module                                               see below
                      + module.port_time
                      + media                                                           see below
                      + module.return_time
                      + way back
    response  T4 - T3 = ceil(256 B / cxl.rate) + cxl.response_time

The way depends on the fabric:

    photonic  ceil(frame / path.rate) + path.phy_time + flight                              models/frame.py: sizes
    direct    nothing: the heads lie on the memory's own ports
    switch    for each hop ceil(switch.*_message / switch.rate) + switch.hopN_time; on the way back in reverse order

The media of a read that finds its line in HBM, in a bank that idled long enough to be precharged, take
row_to_column_time + cas_time + ceil(64 B / hbm.rate); those of a module without HBM, the same with DDR5's numbers and
half of its rate, since one of the two sub-channels of a DDR5 channel moves a line. DDR5 has what the HBM cache has, and
serves a read that it has sooner. A write is complete when it is
globally visible, after commit_time.
"""

from fractions import Fraction

from prismem.models import frame
from prismem.models.flit import FLIT_BYTES
from prismem.models.frame import LINE_BYTES, Kind
from prismem.models.profile import Profile
from prismem.models.profile_tables import HBM_MEMORY, HBM_OFF, SUB_CHANNELS, Fabric
from prismem.models.quantity import Quantity

REQUEST_STAGES = ("cxl_request",)
RESPONSE_STAGES = ("cxl_response",)


def serialization_ns(size_bytes: int, rate: Quantity) -> int:
    """Whole nanoseconds for which `size_bytes` occupy an idle link of this rate."""
    return -(-size_bytes * 16 // rate.canonical)


def _path_stages_ns(profile: Profile, kind: Kind) -> tuple[dict[str, int], dict[str, int]]:
    """A lightpath there and back."""
    path = profile.path
    request_bytes, response_bytes = frame.single_bytes(profile, kind)
    travel_ns = path.phy_time.canonical + path.fibre_length.canonical
    there = {"path_serialize": serialization_ns(request_bytes, path.rate), "flight": travel_ns}
    back = {"return_serialize": serialization_ns(response_bytes, path.rate), "return_flight": travel_ns}
    return there, back


def _hop_stages_ns(profile: Profile, read: bool) -> tuple[dict[str, int], dict[str, int]]:
    """The hops of a switched fabric there and back; a port serializes the message in each of them."""
    switch = profile.switch
    header_ns = serialization_ns(switch.header_message.canonical, switch.rate)
    line_ns = serialization_ns(switch.line_message.canonical, switch.rate)
    there_ns, back_ns = (header_ns, line_ns) if read else (line_ns, header_ns)
    hops = list(enumerate(switch.hop_times(), 1))
    there = {f"hop{hop}": there_ns + time.canonical for hop, time in hops}
    back = {f"return_hop{hop}": back_ns + time.canonical for hop, time in reversed(hops)}
    return there, back


def _way_stages_ns(profile: Profile, read: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Stages between adapter and memory module, there and back."""
    match profile.rack.fabric:
        case Fabric.PHOTONIC:
            return _path_stages_ns(profile, "read" if read else "write")
        case Fabric.SWITCH:
            return _hop_stages_ns(profile, read)
        case Fabric.DIRECT:
            return {}, {}


def _media_ns(profile: Profile, read: bool) -> int:
    """From the start of the access to the data, or to global visibility of a write."""
    if not read:
        return profile.hbm.commit_time.canonical
    return media_read_ns(profile)


def media_read_ns(profile: Profile) -> int:
    """The first lines of a module: HBM has them, as a cache unless DDR5 is faster, as memory if it begins there."""
    mode = profile.hbm.mode.canonical
    if mode == HBM_OFF or (mode == HBM_MEMORY and profile.hbm.base.canonical > 0):
        return ddr_read_ns(profile)
    return hbm_read_ns(profile) if mode == HBM_MEMORY else min(hbm_read_ns(profile), ddr_read_ns(profile))


def hbm_read_ns(profile: Profile) -> int:
    """A line from a precharged bank of an idle HBM channel."""
    hbm = profile.hbm
    return hbm.row_to_column_time.canonical + hbm.cas_time.canonical + serialization_ns(LINE_BYTES, hbm.rate)


def ddr_read_ns(profile: Profile) -> int:
    """A line from a precharged bank of an idle DDR5 channel; one of its two sub-channels moves it."""
    ddr = profile.ddr
    burst_ns = serialization_ns(SUB_CHANNELS * LINE_BYTES, ddr.rate)
    return ddr.row_to_column_time.canonical + ddr.cas_time.canonical + burst_ns


def idle_stages_ns(profile: Profile, kind: Kind) -> dict[str, int]:
    """Idle latency of one line by stage, in the order in which the stages follow each other."""
    read = kind == "read"
    flit_ns = serialization_ns(FLIT_BYTES, profile.cxl.rate)
    there, back = _way_stages_ns(profile, read)
    return {
        "cxl_request": flit_ns + profile.cxl.request_time.canonical,
        "decode": profile.nic.decode_time.canonical,
        **there,
        "module_port": profile.module.port_time.canonical,
        "media": _media_ns(profile, read),
        "module_return": profile.module.return_time.canonical,
        **back,
        "cxl_response": flit_ns + profile.cxl.response_time.canonical,
    }


def idle_parts_ns(profile: Profile, kind: Kind) -> dict[str, int]:
    """The three parts that the paper prints: request, memory, response."""
    stages = idle_stages_ns(profile, kind)
    request = sum(stages[name] for name in REQUEST_STAGES)
    response = sum(stages[name] for name in RESPONSE_STAGES)
    return {"request": request, "memory": sum(stages.values()) - request - response, "response": response}


def idle_ns(profile: Profile, kind: Kind) -> int:
    """Idle latency of one line at the host port."""
    return sum(idle_stages_ns(profile, kind).values())


def path_bound_gb_per_s(profile: Profile, read_share: float, burst_lines: int = 1) -> float:
    """Payload that one host and one module can move at most, 64 B a line; `read_share` (0..1) of the lines are reads.

    Between them lies a lightpath or the ports of switches. A line costs request bytes on the way out and response bytes
    on the way back; the busier direction is the limit. Heads of a device share its DDR channels, which move each line
    once. In frames of a lightpath lines of one burst share their address.
    """
    reads = Fraction(read_share)
    match profile.rack.fabric:
        case Fabric.PHOTONIC:
            return frame.path_bound_gb_per_s(profile, read_share, burst_lines)
        case Fabric.SWITCH:
            rate = profile.switch.rate
            header, line = profile.switch.header_message.canonical, profile.switch.line_message.canonical
            request, response = reads * header + (1 - reads) * line, reads * line + (1 - reads) * header
        case Fabric.DIRECT:
            return media_bound_gb_per_s(profile)
    return float(Fraction(rate.canonical, 16) * LINE_BYTES / max(request, response))


def media_bound_gb_per_s(profile: Profile) -> float:
    """Payload that the DDR channels of one module can move at most, both ways together."""
    return float(Fraction(profile.ddr.rate.canonical, 16) * profile.ddr.channels.canonical)


def window_bound_gb_per_s(profile: Profile, kind: Kind, outstanding: int) -> float:
    """Little's law: lines in flight over idle latency, whatever the link could do. `outstanding` lines on one path."""
    return outstanding * LINE_BYTES / idle_ns(profile, kind)
