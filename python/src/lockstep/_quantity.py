"""Amounts as Kubernetes writes them: ``500m``, ``1536Mi`` (k8s.io/apimachinery, resource.Quantity)."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from typing import NamedTuple

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?\d+))")


class Quantity(NamedTuple):
    """An amount, and whether it is written in powers of 1024."""

    value: Decimal = Decimal(0)
    binary: bool = False

    @classmethod
    def of(cls, said: object) -> Quantity:
        """Reads one.

        >>> str(Quantity.of("1024Mi")), str(Quantity.of("0.5")), str(Quantity.of(2))
        ('1Gi', '500m', '2')
        """
        found = _FORM.fullmatch(str(said))
        if found is None:
            raise ValueError(f"{said!r} is no amount: give a number, or one with a unit, such as 500m or 2Gi")
        number, binary, decimal, exponent = found.groups()
        if binary:
            return cls(Decimal(number) * 1024 ** _BINARY.index(binary), binary=True)
        scale = int(exponent) if exponent else _DECIMAL[decimal or ""]
        if abs(scale) > 18:
            raise ValueError(f"{said!r} is no amount of anything: give one from 1n to 1E")
        return cls(Decimal(number).scaleb(scale).quantize(Decimal("1e-9"), ROUND_CEILING, Context(prec=60)))

    def plus(self, other: Quantity, times: int = 1) -> Quantity:
        """The sum, written as this one; nothing has no way of its own to be written."""
        return Quantity(self.value + times * other.value, self.binary if self.value else other.binary)

    def __str__(self) -> str:
        if self.binary and abs(self.value) >= 1024 and self.value == self.value.to_integral_value():
            return _scaled(int(self.value), 1024, _BINARY)
        exponent = -9
        number = int(self.value.scaleb(9))
        while number and number % 1000 == 0 and exponent < 18:
            number, exponent = number // 1000, exponent + 3
        return f"{number}{_SUFFIX[exponent]}" if number else "0"


def _scaled(number: int, by: int, suffixes: tuple[str, ...]) -> str:
    place = 0
    while number % by == 0 and place < len(suffixes) - 1:
        number, place = number // by, place + 1
    return f"{number}{suffixes[place]}"
