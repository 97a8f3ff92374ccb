"""What the terminal shows: one line per request, and nothing of the metrics that functions print for CloudWatch."""

import contextlib
import threading
import time
from typing import TextIO


class Console:
    """Writes whole lines, one at a time, whatever thread they come from."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Write a line; a terminal that has gone away stops no request."""
        with self._lock, contextlib.suppress(OSError):
            self._stream.write(text + "\n")
            self._stream.flush()

    def request(self, *, method: str, path: str, status: int, seconds: float, function: str, problem: str) -> None:
        """Log a request: method, path as sent (no query: it may hold tokens), status, milliseconds, function."""
        self._log(_printable(method), _printable(path), str(status), _ms(seconds), function or "-")
        if problem:
            self.say(_indented(problem))

    def schedule(self, *, function: str, seconds: float, problem: str) -> None:
        """Log a scheduled run."""
        self._log("SCHEDULE", function, "failed" if problem else "ok", _ms(seconds))
        if problem:
            self.say(_indented(problem))

    def failure(self, where: str, error: BaseException | None) -> None:
        """Log something that should not have happened."""
        self._log(f"{where}:", f"{type(error).__name__}: {error}")

    def _log(self, *words: str) -> None:
        self.say(" ".join((time.strftime("%H:%M:%S"), *words)))


class WithoutMetrics:
    """A standard output for the functions that drops the lines of CloudWatch's embedded metric format."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._metrics = threading.local()

    def write(self, text: str) -> int:
        """Write text. `print` writes a line and its end apart: the end of a dropped line is dropped too."""
        if text.startswith('{"_aws"') or (text == "\n" and getattr(self._metrics, "dropped", False)):
            self._metrics.dropped = not text.endswith("\n")
            return len(text)
        self._metrics.dropped = False
        return self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream behind."""
        self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def quiet_threads(console: Console) -> None:
    """Report what a thread dies of in one line."""

    def hook(args: threading.ExceptHookArgs) -> None:
        console.failure(args.thread.name if args.thread else "thread", args.exc_value)

    threading.excepthook = hook


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def _printable(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode() if text.isprintable() else repr(text)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines())
