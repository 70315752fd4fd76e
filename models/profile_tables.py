"""Tables of a profile: what can be said about each part of a machine, with the limits of every number.

A table that only some fabrics have stands in FABRIC_TABLES; every other table belongs to all of them.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from prismem.models.quantity import Count, Length, Quantity, Rate, Size, Time

WAYS = (1, 2, 4, 8, 16)
GRANULARITIES_B = tuple(256 << i for i in range(7))
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
LinkDelay = Annotated[Time, _within(2, 65_535)]  # a cycle into the queue of an end, a cycle out of the other's
Interval = Annotated[Time, _within(0, 65_535)]  # 0: never
Speed = Annotated[Rate, _within(16, 65_535)]
Fibre = Annotated[Length, _within(0, 50_000)]
FrameSize = Annotated[Size, _within(1, 4_095)]
CREDIT_CLASSES = ("request", "write", "read", "completion")
Credits = Annotated[Count, _within(1, 2047)]  # what a frame of a lightpath counts
DataFrameSize = Annotated[Size, _within(64, 4_095)]
Few = Annotated[Count, _within(1, 16)]
PowerOf2 = Annotated[Count, _one_of(tuple(1 << i for i in range(17)))]


class Section(BaseModel):
    """A table of a profile."""

    model_config = ConfigDict(extra="forbid", frozen=True)


HBM_CACHE = 0  # write-through cache in front of DDR5
HBM_MEMORY = 1  # memory from `hbm.base` on
HBM_OFF = 2  # not there
SUB_CHANNELS = 2  # of a DDR5 channel
NO_HBM: dict[str, tuple[int, str]] = {  # numbers of an HBM that is not there: no access ever meets them
    "base": (0, "MiB"),
    "cas_time": (2, "ns"),
    "column_time": (1, "ns"),
    **dict.fromkeys(
        ("row_to_column_time", "precharge_time", "activate_time", "turn_time", "idle_close_time"), (0, "ns")
    ),
    **dict.fromkeys(("read_precharge_time", "write_precharge_time"), (0, "ns")),
    **dict.fromkeys(("refresh_interval", "refresh_time", "refresh_step", "refresh_offset"), (0, "ns")),
    "rate": (1, "GB/s"),
    **dict.fromkeys(("refresh_groups", "channels", "banks", "ways", "sector_lines"), (1, "1")),
    "sets": (2, "1"),
}


class Fabric(StrEnum):
    """What lies between host adapters and memory modules; the order is that of the bench's parameter."""

    PHOTONIC = "photonic"  # a lightpath from every adapter to every module
    DIRECT = "direct"  # a multi-headed device: the adapters are heads of the one memory module
    SWITCH = "switch"  # electrical switches in series, shared by all


FABRIC_TABLES: dict[Fabric, frozenset[str]] = {
    Fabric.PHOTONIC: frozenset({"path", "frame"}),
    Fabric.DIRECT: frozenset(),
    Fabric.SWITCH: frozenset({"switch"}),
}


class Rack(Section):
    """What the machine is, and how many of each there are at most."""

    fabric: Fabric = Fabric.PHOTONIC
    hosts: Few
    modules: Few


class Cxl(Section):
    """Link between a host's port and its NIC, each direction."""

    request_time: LinkDelay
    response_time: LinkDelay
    rate: Speed
    ack_time: Stage
    replay_time: Stage
    replay_limit: Annotated[Count, _within(1, 65_535)]


class Nic(Section):
    """Host adapter."""

    decode_time: Stage
    timeout: Annotated[Time, _within(1, 65_535)]
    tags: Annotated[Count, _one_of((64, 128, 256, 512, 1024, 2048))]  # a frame of a lightpath carries 11 bits
    queue_depth: PowerOf2


class Lightpath(Section):
    """Lightpath between one adapter and one module, each direction."""

    rate: Speed
    phy_time: Delay
    fibre_length: Fibre
    ack_time: Delay
    replay_time: Stage
    replay_limit: Annotated[Count, _within(1, 255)]
    request_credits: Credits
    write_credits: Credits
    read_credits: Credits
    completion_credits: Credits

    def credits(self) -> list[tuple[str, Quantity]]:
        """Key and credits of each class."""
        return [(f"{name}_credits", getattr(self, f"{name}_credits")) for name in CREDIT_CLASSES]


class Frame(Section):
    """Bytes on the lightpath of the parts of a frame; the least are those that the hardware fills. Lines are 64 B."""

    header: Annotated[Size, _within(4, 64)]
    crc: Annotated[Size, _within(4, 64)]
    address_and_tag: Annotated[Size, _within(6, 64)]
    tag: Annotated[Size, _within(2, 64)]
    byte_enables: Annotated[Size, _within(8, 64)]


class Switch(Section):
    """Electrical switches in series, each direction: the first hop is that of the host."""

    hops: Annotated[Count, _within(1, 4)]
    hop1_time: Stage
    hop2_time: Stage
    hop3_time: Stage
    hop4_time: Stage
    rate: Speed
    credits: Annotated[Count, _within(1, 256)]  # depth of the queue of an output
    header_message: FrameSize
    line_message: DataFrameSize

    def hop_times(self) -> list[Time]:
        """Of the hops that there are, in the order of a request."""
        return [self.hop1_time, self.hop2_time, self.hop3_time, self.hop4_time][: self.hops.canonical]


class Module(Section):
    """Memory module without its media."""

    port_time: Delay
    return_time: Stage
    capacity: Annotated[Size, _within(2 * MIB, 2 << 40)]
    completion: Annotated[Count, _one_of((0, 1))]  # of a write: 0 when globally visible, 1 when accepted (posted)
    posted_time: Delay  # how much later a posted write is visible; half of it on modules of odd number
    write_unit: Annotated[Size, _one_of((32, 64))]  # what becomes visible at once
    half_time: Stage  # from half to half, with a write unit of 32 B


class Hbm(Section):
    """HBM of a module: a write-through cache, or memory of its own."""

    mode: Annotated[Count, _one_of((HBM_CACHE, HBM_MEMORY, HBM_OFF))]
    base: Annotated[Size, _within(0, 2 << 40)]  # device address from which HBM is memory
    cas_time: Stage
    row_to_column_time: Delay
    precharge_time: Delay
    activate_time: Delay  # activate to precharge, tRAS
    read_precharge_time: Delay  # read command to precharge, tRTP
    write_precharge_time: Delay  # write command to precharge: write latency, burst and tWR
    column_time: Stage  # column command to column command of a bank, tCCD
    turn_time: Delay  # bus turnaround, read to write and back, a batch of writes
    commit_time: Stage
    idle_close_time: Delay
    refresh_interval: Interval
    refresh_time: Delay
    refresh_groups: PowerOf2  # banks refreshed one group after the other; 1: all at once
    refresh_step: Delay  # from bank to bank of a group
    refresh_offset: Delay  # of the first group
    rate: Speed
    channels: PowerOf2
    banks: PowerOf2
    sets: PowerOf2
    ways: PowerOf2
    sector_lines: PowerOf2

    @model_validator(mode="before")
    @classmethod
    def _not_there(cls, raw: Any) -> Any:
        """A module without HBM needs no numbers of it; what the hardware still asks for is the least that it takes."""
        mode = raw.get("mode") if isinstance(raw, dict) else None
        if not isinstance(mode, dict) or mode.get("value") != HBM_OFF:
            return raw
        filled = {key: {"value": value, "unit": unit, "source": "no HBM"} for key, (value, unit) in NO_HBM.items()}
        return filled | raw


class Ddr(Section):
    """DDR5 behind the HBM front."""

    cas_time: Stage
    row_to_column_time: Delay
    precharge_time: Delay
    activate_time: Delay  # activate to precharge, tRAS
    read_precharge_time: Delay  # read command to precharge, tRTP
    write_precharge_time: Delay  # write command to precharge: write latency, burst and tWR
    column_time: Stage  # column command to column command of a bank, tCCD
    turn_time: Delay  # bus turnaround, read to write and back, a batch of writes
    idle_close_time: Delay
    refresh_interval: Interval
    refresh_time: Delay
    refresh_groups: PowerOf2  # banks refreshed one group after the other; 1: all at once
    refresh_step: Delay  # from bank to bank of a group
    refresh_offset: Delay  # of the first group
    rate: Speed
    channels: PowerOf2
    banks: PowerOf2


class Hdm(Section):
    """The decoders that map the pool: `window` bytes of every module, as widely interleaved as `ways` allows."""

    base: Annotated[Size, _within(0, 1 << 51)]
    window: Annotated[Size, _within(2 * MIB, 2 << 40)]
    ways: Annotated[Count, _one_of(WAYS)]
    granularity: Annotated[Size, _one_of(GRANULARITIES_B)]
