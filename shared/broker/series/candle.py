"""Open, high, low, close, sum and count of one field in one bucket."""

from dataclasses import dataclass
from decimal import Decimal

from broker.series import decimals


@dataclass(frozen=True, slots=True)
class Candle:
    """What at least one value amounts to.

    Attributes:
        open: The value of the earliest moment, of equal ones the one that arrived first.
        opened_at: That moment, in milliseconds since the epoch.
        close: The value of the latest moment, of equal ones the one that arrived last.
        closed_at: That moment.
        high: The greatest value.
        low: The least value.
        total: The exact sum.
        count: How many values.
    """

    open: Decimal
    opened_at: int
    close: Decimal
    closed_at: int
    high: Decimal
    low: Decimal
    total: Decimal
    count: int

    @classmethod
    def of(cls, value: Decimal, *, at: int) -> "Candle":
        """One value."""
        return cls(value, at, value, at, value, value, value, 1)

    def then(self, later: "Candle") -> "Candle":
        """This and what arrived after it."""
        earlier = later.opened_at < self.opened_at
        newer = later.closed_at >= self.closed_at
        return Candle(
            later.open if earlier else self.open,
            later.opened_at if earlier else self.opened_at,
            later.close if newer else self.close,
            later.closed_at if newer else self.closed_at,
            max(self.high, later.high),
            min(self.low, later.low),
            decimals.plus(self.total, later.total),
            self.count + later.count,
        )
