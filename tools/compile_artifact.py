"""Compiles the .pyc files into a `sam build` artifact; without them a cold start compiles every module it imports.

    python -m tools.compile_artifact .aws-sam/build

Unchecked-hash files are trusted without looking at their source: packaging sets modification times at will, and the
default kind would be thrown away for a wrong one.
"""

import argparse
import compileall
import sys
from pathlib import Path
from py_compile import PycInvalidationMode


def compile_artifact(build: Path) -> bool:
    """Compile every module of every function and layer; tells whether all compiled.

    Paths inside the files are the ones at Lambda, so tracebacks point at what is deployed, and two builds of one source
    are alike.
    """
    folders = sorted(folder for folder in build.iterdir() if folder.is_dir())
    return all(
        compileall.compile_dir(
            folder,
            maxlevels=50,
            quiet=1,
            force=True,
            stripdir=str(folder),
            prependdir="/opt" if (folder / "python").is_dir() else "/var/task",
            invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
        )
        for folder in folders
    )


def main() -> int:
    """The command line; exits 1 when a module does not compile, 2 when there is no artifact."""
    parser = argparse.ArgumentParser(description="Compile the .pyc files into a `sam build` artifact.")
    parser.add_argument("build", type=Path, help="the folder that sam build wrote, such as .aws-sam/build")
    build = parser.parse_args().build
    if not (build / "template.yaml").is_file():
        print(f"{build} holds no template.yaml: run `sam build` first", file=sys.stderr)
        return 2
    return 0 if compile_artifact(build) else 1


if __name__ == "__main__":
    sys.exit(main())
