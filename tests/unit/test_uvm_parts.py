"""Parts of the port-level environment that need no simulator: message layouts, byte enables, address lists."""

import random
import re

import numpy as np
import pytest

from prismem.models import profile
from prismem.models.hdm import HdmMap
from prismem.paths import RTL
from prismem.tb.uvm import messages
from prismem.tb.uvm.messages import Opcode, Request, pack, request_seen, request_words, response_seen, unpack, width
from prismem.tb.uvm.sequences import SHAPES, enables_of, lines_of, shape_of
from prismem.tb.uvm.tests import TESTS
from prismem.tb.uvm.tests.faults import POISON_ENTRIES

CXL = (RTL / "cxl" / "cxl_pkg.sv").read_text()
PF = (RTL / "common" / "pf_pkg.sv").read_text()
TYPE_BITS = {
    "m2s_req_op_e": 4, "m2s_rwd_op_e": 4, "s2m_ndr_op_e": 3, "s2m_drs_op_e": 3, "snp_type_e": 3, "meta_field_e": 2,
    "dev_load_e": 2, "hpa_line_t": 46, "dpa_line_t": 35, "nic_tag_t": 16, "req_op_e": 2, "rsp_status_e": 2, "logic": 1,
}  # fmt: skip


def struct_layout(text: str, name: str) -> messages.Layout:
    """Fields of a packed structure with their widths."""
    body = next(b for b, n in re.findall(r"typedef struct packed \{(.*?)\} (\w+);", text, re.DOTALL) if n == name)
    fields = re.findall(r"^\s*(\w+)\s+(?:\[(\d+):0\]\s+)?(\w+);", body, re.MULTILINE)
    return tuple((field, int(high) + 1 if high else TYPE_BITS[kind]) for kind, high, field in fields)


@pytest.mark.parametrize(
    ("text", "name", "layout"),
    [
        (CXL, "m2s_req_t", messages.M2S_REQ),
        (CXL, "m2s_rwd_t", messages.M2S_RWD),
        (CXL, "s2m_ndr_t", messages.S2M_NDR),
        (CXL, "s2m_drs_t", messages.S2M_DRS),
        (PF, "req_hdr_t", messages.REQ_HDR),
        (PF, "rsp_hdr_t", messages.RSP_HDR),
    ],
)
def test_layouts_are_those_of_the_hardware(text: str, name: str, layout: messages.Layout) -> None:
    assert struct_layout(text, name) == layout


def test_pack_and_unpack_are_inverse_and_refuse_what_does_not_fit() -> None:
    fields = {name: (1 << bits) - 1 - (i & 1) for i, (name, bits) in enumerate(messages.M2S_RWD)}
    assert unpack(messages.M2S_RWD, pack(messages.M2S_RWD, fields)) == fields
    assert width(messages.M2S_REQ) == sum(bits for _, bits in messages.M2S_REQ)
    with pytest.raises(ValueError, match="tag: 65536 does not fit 16 bits"):
        pack(messages.M2S_REQ, {"tag": 1 << 16})


@pytest.mark.parametrize("opcode", Opcode)
def test_a_request_survives_the_pins(opcode: Opcode) -> None:
    data = {"data": 1 << 511 | 5, "enables": 0xF0F, "poison": True} if opcode.with_data else {}
    sent = Request(7, 1, 1, opcode, 0xABCD, (1 << 46) - 2, 9, **data)
    header, line = request_words(sent)
    assert request_seen(7, 1, 1, header, line if opcode.with_data else None) == sent


def test_responses_say_what_the_standard_says() -> None:
    nxm = response_seen(0, 0, 0, pack(messages.S2M_DRS, {"opcode": 1, "tag": 3, "dev_load": 2}), messages.ALL_ONES)
    assert (nxm.nxm, nxm.tag, nxm.load, nxm.with_data) == (True, 3, 2, True)
    cmp = response_seen(0, 0, 0, pack(messages.S2M_NDR, {"err": 1, "tag": 4}), None)
    assert (cmp.error, cmp.with_data, cmp.tag) == (True, False, 4)
    with pytest.raises(ValueError, match="opcode 7"):
        request_seen(0, 0, 0, pack(messages.M2S_REQ, {"opcode": 7}), None)


@pytest.mark.parametrize("shape", SHAPES)
def test_enables_have_the_shape_that_was_asked_for(shape: str) -> None:
    rng = random.Random(1)
    for _ in range(50):
        enables = enables_of(shape, rng)
        assert 0 <= enables < 1 << 64
        # a prefix or suffix of 32 bytes is a half; a scattered one is what it is by chance
        assert shape_of(enables) in {shape, "half"} if shape in ("prefix", "suffix") else shape_of(enables) == shape


def test_lines_of_a_module_lie_on_it() -> None:
    hdm = HdmMap.of(profile.load("pfma"), 2)
    for module in range(2):
        lines = lines_of(hdm, module, (0, 1, 4, 1000))
        modules, dpa = hdm.decode(np.array(lines, np.uint64) * np.uint64(64))
        assert set(modules) == {module}
        assert [int(address) // 64 for address in dpa] == [0, 1, 4, 1000]


def test_every_test_says_what_it_shows() -> None:
    assert all(test.__doc__ for test in TESTS.values())


def test_host_tags_are_as_many_as_the_link_takes() -> None:
    text = (RTL / "cxl" / "cxl_channel.sv").read_text()
    assert re.findall(r"HostTags = (\d+)", text) == [str(messages.TAGS)]


def test_poison_places_are_as_many_as_a_module_has() -> None:
    text = (RTL / "pf_mem" / "pf_mem.sv").read_text()
    assert re.findall(r"PoisonEntries = (\d+)", text) == [str(POISON_ENTRIES)]
