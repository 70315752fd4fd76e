"""What the checking components have found, in one place: a test stops at the first finding and fails for it."""

from cocotb.triggers import Event

FINDINGS_MAX = 20


class Findings:
    """Errors in the order in which they were found."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.first = Event()

    def add(self, time_ns: int, component: str, text: str) -> None:
        """Report an error; those beyond FINDINGS_MAX are consequences and dropped."""
        if len(self.texts) < FINDINGS_MAX:
            self.texts.append(f"t={time_ns} ns: {component}: {text}")
            print(f"finding: {self.texts[-1]}", flush=True)
        self.first.set()
