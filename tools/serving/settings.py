"""How the local server is asked to run: the variables that make passes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"


class UsageError(Exception):
    """The server cannot run as asked; the message says why."""


@dataclass(frozen=True)
class Settings:
    """How to run. `state` and `endpoint` exclude each other; without both the data is gone at the end."""

    host: str
    port: int
    state: Path | None
    endpoint: str | None
    template: Path
    log_level: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings; an empty variable counts as absent.

        Raises:
            UsageError: One of them makes no sense.
        """
        port, state, endpoint = (environment.get(name, "") for name in ("PORT", "STATE", "BACKEND"))
        if port and not (port.isdecimal() and int(port) < 65536):
            raise UsageError(f"PORT is a number below 65536, not {port}")
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise UsageError(f"BACKEND is a URL such as http://127.0.0.1:4566, not {endpoint}")
        if state and endpoint:
            raise UsageError("STATE and BACKEND exclude each other: a backend keeps its own data")
        return cls(
            host=environment.get("HOST") or LOOPBACK,
            port=int(port or 3000),
            state=Path(state).resolve() if state else None,
            endpoint=endpoint.rstrip("/") or None,
            template=Path(environment.get("TEMPLATE") or "template.yaml").resolve(),
            log_level=environment.get("POWERTOOLS_LOG_LEVEL") or "WARNING",
        )

    @property
    def local(self) -> Path:
        """The folder of what a run leaves behind for its user."""
        return self.template.parent / ".local"

    def url(self, port: int) -> str:
        """The URL the server has on this machine, by the port it was given."""
        return f"http://{LOOPBACK if self.host in ('', '0.0.0.0') else self.host}:{port}"
