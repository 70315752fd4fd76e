"""HDM decode in numpy: host physical address <-> (module, device physical address), whole arrays at once.

The pool is split evenly among the decoders. Decoder k serves modules k*ways .. k*ways + ways - 1, interleaved:
consecutive granules of `granularity_b` bytes go to consecutive modules, and the granules of a module lie one after the
other from device address 0.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from prismem.models.profile import DECODERS_MAX, Profile
from prismem.models.profile_tables import GRANULARITIES_B, WAYS

Addresses = npt.NDArray[np.uint64]
Modules = npt.NDArray[np.int64]

NXM = -1
"""Module of an address that no decoder claims."""


@dataclass(frozen=True)
class HdmMap:
    """The decoders of one machine. `size_bytes` is the whole pool; all modules hold the same share."""

    base: int
    size_bytes: int
    modules: int
    ways: int
    granularity_b: int

    def __post_init__(self) -> None:
        decoders, rest = divmod(self.modules, self.ways)
        if self.ways not in WAYS or rest or not 1 <= decoders <= DECODERS_MAX:
            raise ValueError(f"ways: {self.ways} does not fit {self.modules} modules and {DECODERS_MAX} decoders")
        if self.granularity_b not in GRANULARITIES_B:
            raise ValueError(f"granularity_b: {self.granularity_b} is not one of {GRANULARITIES_B}")
        if self.size_bytes <= 0 or self.size_bytes % (self.modules * self.granularity_b):
            raise ValueError(f"size_bytes: {self.size_bytes} is not a whole number of granules of every module")

    @classmethod
    def of(cls, profile: Profile, modules: int) -> Self:
        """The map of a machine with `modules` modules."""
        return cls(
            profile.hdm.base.canonical,
            profile.hdm_bytes(modules),
            modules,
            profile.hdm_ways(modules),
            profile.hdm.granularity.canonical,
        )

    @property
    def _decoder_bytes(self) -> int:
        return self.size_bytes // (self.modules // self.ways)

    def decode(self, hpa: Addresses) -> tuple[Modules, Addresses]:
        """Module (NXM where no decoder claims the address) and device address (0 there) of byte addresses."""
        hit = (hpa >= self.base) & (hpa - np.uint64(self.base) < self.size_bytes)
        offset = np.where(hit, hpa - np.uint64(self.base), np.uint64(0))
        decoder, within = np.divmod(offset, np.uint64(self._decoder_bytes))
        granule, byte = np.divmod(within, np.uint64(self.granularity_b))
        row, way = np.divmod(granule, np.uint64(self.ways))
        module = (decoder * np.uint64(self.ways) + way).astype(np.int64)
        dpa = row * np.uint64(self.granularity_b) + byte
        return np.where(hit, module, NXM), np.where(hit, dpa, np.uint64(0))

    def encode(self, module: Modules, dpa: Addresses) -> Addresses:
        """Host address of device addresses; the reverse of `decode`. Raises ValueError outside the map."""
        per_module = self.size_bytes // self.modules
        if np.any((module < 0) | (module >= self.modules)) or np.any(dpa >= per_module):
            raise ValueError(f"module or dpa is outside {self.modules} modules of {per_module} bytes")
        decoder, way = np.divmod(module.astype(np.uint64), np.uint64(self.ways))
        row, byte = np.divmod(dpa, np.uint64(self.granularity_b))
        granule = row * np.uint64(self.ways) + way
        offset = decoder * np.uint64(self._decoder_bytes) + granule * np.uint64(self.granularity_b) + byte
        return offset + np.uint64(self.base)
