"""Where buckets begin and end."""

from dataclasses import dataclass

from broker import times

_WEEK_SECONDS = 7 * 86_400
_FIRST_MONDAY = -3 * 86_400_000
"""1969-12-29T00:00:00Z, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The buckets of one interval, aligned to the epoch in UTC; whole weeks begin on Mondays.

    All moments are milliseconds since the epoch.

    Attributes:
        interval_seconds: A divisor of 86,400, or a multiple of it.
    """

    interval_seconds: int

    @property
    def interval(self) -> int:
        """The length of a bucket in milliseconds."""
        return self.interval_seconds * 1000

    def floor(self, at: int) -> int:
        """The start of the bucket that a moment lies in, before 1970 too."""
        return at - (at - self._origin) % self.interval

    def ceil(self, at: int) -> int:
        """The earliest start of a bucket that is not before a moment."""
        return -((self._origin - at) // self.interval) * self.interval + self._origin

    @property
    def first(self) -> int:
        """The start of the first bucket that lies within the years 1 to 9999."""
        return self.ceil(times.FIRST)

    @property
    def end(self) -> int:
        """The end of the last one."""
        return self.floor(times.LAST)

    @property
    def _origin(self) -> int:
        return 0 if self.interval_seconds % _WEEK_SECONDS else _FIRST_MONDAY
