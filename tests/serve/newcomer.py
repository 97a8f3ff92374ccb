"""Somebody who pastes the commands of a page into a shell, line by line, while the local server runs.

The shell is bash as people have it in front of them: interactive, so that a `!` in double quotes is what it is there,
and going on after a command that failed. Where there is no curl, `tests/serve/curl.py` stands in for it, and for a
missing python3 the Python that runs the tests.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "\x1e"
STAND_IN = Path(__file__).with_name("curl.py")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_REQUEST = re.compile(r"(?<![\w-])(?:call [A-Z]+|curl) ")
_DEFINITION = re.compile(r"^\w+\(\) \{.*\}$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """What the shell made of one command: what it printed, and its exit status."""

    output: str
    status: int


@dataclass(frozen=True)
class Session:
    """What came of all commands; `errors` is what they printed as errors."""

    commands: Sequence[Command]
    errors: str

    @property
    def output(self) -> str:
        """All that was printed."""
        return "".join(command.output for command in self.commands)


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a Markdown text, each with its language."""
    return _BLOCK.findall(text)


def requests_in(script: str) -> int:
    """How many requests a script makes, as it reads."""
    return len(_REQUEST.findall(_DEFINITION.sub("", script)))


def paste(script: str, *, folder: Path, stand_in: bool = False) -> Session:
    """Paste lines into a shell that stands in a folder.

    Args:
        script: The lines.
        folder: Where the shell is; the server's credentials are in its `.local`.
        stand_in: Use the stand-in for curl even where curl is installed.
    """
    errors, tools = folder / "errors", folder / "tools"
    tools.mkdir(exist_ok=True)
    if stand_in or shutil.which("curl") is None:
        _tool(tools / "curl", f'"{sys.executable}" -I -S "{STAND_IN}"')
    if shutil.which("python3") is None:
        _tool(tools / "python3", f'"{sys.executable}"')
    given = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    given |= {"PS1": "", "PS2": "", "PROMPT_COMMAND": f"printf '{MARK}%s{MARK}' $?"}
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "--noediting", "-i"],
        input=f"exec 2>{errors}\n{script}\n",
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
    )
    parts = done.stdout.split(MARK)[2:]  # without the prompt before the first line, and the line that is ours
    pairs = zip(parts[0::2], parts[1::2], strict=False)
    return Session(
        [Command(output, int(status)) for output, status in pairs], errors.read_text().removesuffix("exit\n")
    )


def _tool(path: Path, command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
