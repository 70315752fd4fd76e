"""A message at one end of a lightpath, as a monitor publishes it."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Crossing:
    """A message at one end of a lightpath. `data` is 0 when it carries no line; `enables` count for writes."""

    time_ns: int
    host: int
    module: int
    direction: Literal["req", "rsp"]
    end: Literal["in", "out"]
    tag: int
    op: int = 0  # of requests, req_op_e
    line: int = 0  # of requests, DPA[40:6]
    status: int = 0  # of responses, rsp_status_e
    poison: bool = False
    with_data: bool = False
    data: int = 0
    enables: int = 0

    @property
    def content(self) -> tuple[Any, ...]:
        """What must be the same at both ends."""
        return (self.tag, self.op, self.line, self.status, self.poison, self.with_data, self.data, self.enables)
