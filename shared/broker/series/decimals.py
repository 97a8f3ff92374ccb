"""Exact decimals: what a point may hold, sums that DynamoDB adds up without losing a digit, and their JSON text.

A sum is kept in limbs: limb k counts units of 10^(18k - 9) and is a whole number, so that ADD on it is exact on every
engine for ten thousand million writes (28 digits) and on DynamoDB for 10^20 (38 digits). Their total may have more
digits than one DynamoDB number holds. A point between 10^-9 and 10^9 touches one limb.
"""

from collections.abc import Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from typing import Any

from broker.jsontext import Number

DIGITS_MOST = 38
MAGNITUDE_MOST = 125
_LIMB_DIGITS = 18
_LIMB_UNIT = 10**_LIMB_DIGITS
_POINT_SHIFT = 9
LIMBS = range(-9, 8)
"""The limbs that a number of 38 digits between 1e-125 and 1e126 can touch, and those that sums of them carry into."""

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_DIVISION = Context(prec=1000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_ROUNDED = Context(prec=DIGITS_MOST, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_PLAIN_FROM, _PLAIN_TO = -20, 40


def read(value: Any) -> Decimal | None:
    """The exact value of a JSON number that is 0, or of at most 38 digits and from 1e-125 to below 1e126; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, Number)):
        return None
    found = Decimal(value) if isinstance(value, int) else value.decimal()
    if found is None:
        return None
    if not found:
        return Decimal(0)
    if not -MAGNITUDE_MOST <= found.adjusted() <= MAGNITUDE_MOST:
        return None
    found = _EXACT.normalize(found)
    return found if len(found.as_tuple().digits) <= DIGITS_MOST else None


def plus(left: Decimal, right: Decimal) -> Decimal:
    """The exact sum."""
    return _EXACT.add(left, right)


def limbs(value: Decimal) -> dict[int, int]:
    """A number as the limbs it touches, all of its sign, each below 10^18 in size; none for 0."""
    sign, digits, exponent = value.as_tuple()
    left = int("".join(map(str, digits)))
    limb, shift = divmod(int(exponent) + _POINT_SHIFT, _LIMB_DIGITS)
    left *= 10**shift
    found: dict[int, int] = {}
    while left:
        left, part = divmod(left, _LIMB_UNIT)
        if part:
            found[limb] = -part if sign else part
        limb += 1
    return found


def total(parts: Mapping[int, int]) -> Decimal:
    """The number that limbs amount to, exactly."""
    if not parts:
        return Decimal(0)
    lowest = min(parts)
    units = sum(part * _LIMB_UNIT ** (limb - lowest) for limb, part in parts.items())
    return _EXACT.normalize(_EXACT.scaleb(Decimal(units), lowest * _LIMB_DIGITS - _POINT_SHIFT))


def average(value: Decimal, count: int) -> Decimal:
    """A sum divided by a count: exactly where the quotient ends, else to 38 significant digits, half to even."""
    context = _DIVISION.copy()
    quotient = context.divide(value, Decimal(count))
    return _EXACT.normalize(_ROUNDED.divide(value, Decimal(count)) if context.flags[Inexact] else quotient)


def text(value: Decimal) -> str:
    """A number as JSON, plain where that is not too long."""
    if not value:
        return "0"
    return format(value, "f") if _PLAIN_FROM <= value.adjusted() < _PLAIN_TO else str(value)
