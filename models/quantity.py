"""Numbers with units: what a profile is made of.

A quantity is written as `{ value = 5, unit = "m", source = "..." }`. Each dimension has one canonical integer unit that
the RTL counts in, and conversion is exact: a value that is not a whole number of canonical units is an error, never
rounded, because a rounded rate or delay would make the measured system another one than the profile says.
"""

from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator

NS_PER_METRE = 5  # light in fibre, refractive index about 1.5


def _number(value: Fraction) -> str:
    return str(value.numerator if value.denominator == 1 else float(value))


class Quantity(BaseModel):
    """A value, its unit and where it comes from. `canonical` is the exact integer in the unit of the dimension."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    DIMENSION: ClassVar[str] = "quantity"
    UNITS: ClassVar[dict[str, Fraction]] = {}  # unit -> canonical units in it
    CANONICAL: ClassVar[str] = ""

    value: int | float
    unit: str
    source: str

    @model_validator(mode="after")
    def _exact(self) -> Self:
        if not isfinite(self.value):
            raise ValueError(f"{self.value} is not a finite number; write one, for example 1")
        if self.unit == "1" and self.unit not in self.UNITS:
            example = f"{self.value} {next(iter(self.UNITS))}"
            raise ValueError(f"{self.value}: unit missing; use {' or '.join(self.UNITS)}, for example '{example}'")
        if self.unit not in self.UNITS:
            raise ValueError(f"'{self.unit}' is not a unit of a {self.DIMENSION}; use {' or '.join(self.UNITS)}")
        if self._fraction() < 0:
            raise ValueError(f"{self} is negative; a {self.DIMENSION} is 0 or more")
        if self._fraction().denominator != 1:
            raise ValueError(f"{self} is not a whole number of {self.CANONICAL}; change it to one that is")
        if not self.source.strip():
            raise ValueError("source is empty; say where the number comes from")
        return self

    def _fraction(self) -> Fraction:
        return Fraction(str(self.value)) * self.UNITS[self.unit]

    @property
    def canonical(self) -> int:
        """The exact value in canonical units."""
        return int(self._fraction())

    def in_my_unit(self, canonical: int) -> str:
        """Text of another quantity of this dimension, in the unit of this one."""
        return f"{_number(Fraction(canonical) / self.UNITS[self.unit])} {self.unit}".removesuffix(" 1")

    def __str__(self) -> str:
        return f"{self.value} {self.unit}" if self.unit != "1" else f"{self.value}"

    @classmethod
    def parse(cls, text: str) -> dict[str, Any]:
        """'15 m' -> the table of a quantity, unvalidated; a bare number has the unit '1'."""
        number, _, unit = text.strip().partition(" ")
        parsed: int | float
        try:
            parsed = int(number)
        except ValueError:
            parsed = float(number)
        return {"value": parsed, "unit": unit.strip() or "1", "source": "command line"}


class Time(Quantity):
    """Canonical unit: nanosecond, the period of the core clock."""

    DIMENSION = "time"
    UNITS: ClassVar = {"ns": Fraction(1), "us": Fraction(1000)}
    CANONICAL = "ns"


class Rate(Quantity):
    """Canonical unit: 1/16 byte a nanosecond, the grain of the RTL's token buckets."""

    DIMENSION = "rate"
    UNITS: ClassVar = {"GB/s": Fraction(16), "Gb/s": Fraction(2)}
    CANONICAL = "1/16 B/ns (0.0625 GB/s)"


class Length(Quantity):
    """Canonical unit: nanosecond of flight in fibre, 5 a metre."""

    DIMENSION = "length"
    UNITS: ClassVar = {"m": Fraction(NS_PER_METRE), "cm": Fraction(NS_PER_METRE, 100)}
    CANONICAL = "ns of flight (0.2 m)"


class Size(Quantity):
    """Canonical unit: byte."""

    DIMENSION = "size"
    UNITS: ClassVar = {name: Fraction(1 << (10 * i)) for i, name in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}
    CANONICAL = "B"

    def in_my_unit(self, canonical: int) -> str:
        """Sizes are shown in the largest unit that they are whole numbers of."""
        whole = [unit for unit, factor in self.UNITS.items() if canonical and canonical % factor == 0]
        unit = whole[-1] if whole else "B"
        return f"{_number(Fraction(canonical) / self.UNITS[unit])} {unit}"


class Count(Quantity):
    """A number of things."""

    DIMENSION = "count"
    UNITS: ClassVar = {"1": Fraction(1)}
    CANONICAL = "1"
