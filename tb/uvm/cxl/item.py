"""Sequence item: one request at a CXL.mem port, and the response it got."""

from cocotb.triggers import Event
from pyuvm import uvm_sequence_item

from prismem.models.memory import ALL_ENABLES
from prismem.tb.uvm.messages import Opcode, Response


class CxlItem(uvm_sequence_item):
    """A request. `tag` None: the driver takes a free one. `gap`: cycles between the item before and this one."""

    def __init__(
        self,
        opcode: Opcode,
        line: int,
        *,
        data: int = 0,
        enables: int = ALL_ENABLES,
        poison: bool = False,
        tag: int | None = None,
        ld_id: int = 0,
        gap: int = 0,
    ) -> None:
        super().__init__(opcode.name)
        self.opcode = opcode
        self.line = line
        self.data = data
        self.enables = enables
        self.poison = poison
        self.tag = tag
        self.ld_id = ld_id
        self.gap = gap
        self.response: Response | None = None
        """None until `answered` is set, and for ever when a reset came first."""
        self.answered = Event()

    def answer(self, response: Response | None) -> None:
        """The transaction has ended."""
        self.response = response
        self.answered.set()
