"""CXL.mem messages as the pins carry them: fields of the packed structures of cxl_pkg, first field in the highest bits.

tests/unit/test_uvm_parts.py compares the layouts with the SystemVerilog.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

Layout = tuple[tuple[str, int], ...]

M2S_REQ: Layout = (
    ("opcode", 4), ("snp_type", 3), ("meta_field", 2), ("meta_value", 2), ("tc", 2), ("ld_id", 4), ("tag", 16),
    ("address", 46),
)  # fmt: skip
M2S_RWD: Layout = (
    ("opcode", 4), ("snp_type", 3), ("meta_field", 2), ("meta_value", 2), ("poison", 1), ("tc", 2), ("ld_id", 4),
    ("tag", 16), ("address", 46),
)  # fmt: skip
S2M_NDR: Layout = (
    ("opcode", 3), ("meta_field", 2), ("meta_value", 2), ("dev_load", 2), ("ld_id", 4), ("err", 1), ("tag", 16),
)  # fmt: skip
S2M_DRS: Layout = (
    ("opcode", 3), ("meta_field", 2), ("meta_value", 2), ("poison", 1), ("dev_load", 2), ("ld_id", 4), ("tag", 16),
)  # fmt: skip
REQ_HDR: Layout = (("op", 2), ("poison", 1), ("tag", 16), ("line", 35))
RSP_HDR: Layout = (("load", 2), ("status", 2), ("tag", 16))

TAGS = 4096  # host tags are below this (rtl/cxl/cxl_channel.sv, HostTags)
META_NONE = 3
MEM_DATA_NXM = 1
DATA_BITS = 512
ALL_ONES = (1 << DATA_BITS) - 1


class Opcode(IntEnum):
    """Requests of a host; the value is this environment's own, `CODES` holds those of the wire."""

    MEM_RD = 0
    MEM_WR = 1
    MEM_WR_PTL = 2
    MEM_INV = 3

    @property
    def with_data(self) -> bool:
        """Whether the request travels on the RwD channel."""
        return self in (Opcode.MEM_WR, Opcode.MEM_WR_PTL)


CODES = {Opcode.MEM_RD: 1, Opcode.MEM_INV: 0, Opcode.MEM_WR: 1, Opcode.MEM_WR_PTL: 2}
_REQ_OPCODES = {1: Opcode.MEM_RD, 0: Opcode.MEM_INV}
_RWD_OPCODES = {1: Opcode.MEM_WR, 2: Opcode.MEM_WR_PTL}


def width(layout: Layout) -> int:
    """Bits of a message."""
    return sum(bits for _, bits in layout)


def pack(layout: Layout, fields: Mapping[str, int]) -> int:
    """A message as a number; fields that are not named are 0. Raises ValueError for one that does not fit."""
    word = 0
    for name, bits in layout:
        value = fields.get(name, 0)
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{name}: {value} does not fit {bits} bits")
        word = word << bits | value
    return word


def unpack(layout: Layout, word: int) -> dict[str, int]:
    """The fields of a message."""
    fields = {}
    for name, bits in reversed(layout):
        fields[name] = word & ((1 << bits) - 1)
        word >>= bits
    return fields


@dataclass(frozen=True)
class Request:
    """A request as a monitor saw it cross a port."""

    time_ns: int
    host: int
    lane: int
    opcode: Opcode
    tag: int
    line: int  # HPA[51:6]
    ld_id: int = 0
    data: int = 0
    enables: int = 0
    poison: bool = False

    @property
    def place(self) -> str:
        """How reports name it."""
        return f"host {self.host} {self.opcode.name} tag {self.tag} line 0x{self.line:x}"


@dataclass(frozen=True)
class Response:
    """A response as a monitor saw it cross a port."""

    time_ns: int
    host: int
    lane: int
    with_data: bool
    tag: int
    load: int
    ld_id: int = 0
    data: int = 0
    nxm: bool = False
    poison: bool = False
    error: bool = False


@dataclass(frozen=True)
class Reset:
    """The device was reset: what was in flight gets no answer."""

    time_ns: int


def request_words(request: Request) -> tuple[int, int]:
    """Header and line (enables above data) of a request."""
    fields = {
        "opcode": CODES[request.opcode],
        "meta_field": META_NONE,
        "tag": request.tag,
        "ld_id": request.ld_id,
        "address": request.line,
    }
    if not request.opcode.with_data:
        return pack(M2S_REQ, fields), 0
    header = pack(M2S_RWD, fields | {"poison": int(request.poison)})
    return header, request.enables << DATA_BITS | request.data


def request_seen(time_ns: int, host: int, lane: int, header: int, line: int | None) -> Request:
    """The request behind the words of a port; `line` None: of the Req channel. ValueError for an unknown opcode."""
    fields = unpack(M2S_REQ if line is None else M2S_RWD, header)
    opcode = (_REQ_OPCODES if line is None else _RWD_OPCODES).get(fields["opcode"])
    if opcode is None:
        raise ValueError(f"host {host}: opcode {fields['opcode']} is unknown")
    common = (time_ns, host, lane, opcode, fields["tag"], fields["address"], fields["ld_id"])
    if line is None:
        return Request(*common)
    return Request(*common, data=line & ALL_ONES, enables=line >> DATA_BITS, poison=bool(fields["poison"]))


def response_seen(time_ns: int, host: int, lane: int, header: int, data: int | None) -> Response:
    """The response behind the words of a port; `data` None: of the NDR channel."""
    fields = unpack(S2M_NDR if data is None else S2M_DRS, header)
    common = (time_ns, host, lane, data is not None, fields["tag"], fields["dev_load"], fields["ld_id"])
    if data is None:
        return Response(*common, error=bool(fields["err"]))
    nxm = fields["opcode"] == MEM_DATA_NXM
    return Response(*common, data=data, nxm=nxm, poison=bool(fields["poison"]))
