"""Run every bench, or those named: `python -m bench [name …]`. Each is a module of this package with a `run()`.

Several run in processes of their own, one after the other: functions keep what they have made as long as theirs lives.
"""

import importlib
import pkgutil
import subprocess
import sys
import time

import bench

NOT_A_BENCH = {"__main__", "measure", "priced"}


def main(names: list[str]) -> int:
    """Run them; the status is that of the first that fails."""
    found = [module.name for module in pkgutil.iter_modules(bench.__path__) if module.name not in NOT_A_BENCH]
    for name in names:
        if name not in found:
            print(f"there is no bench {name}; there are {', '.join(found)}", file=sys.stderr)
            return 2
    if len(names) == 1:
        started = time.monotonic()
        print(f"\n== {names[0]}", flush=True)
        importlib.import_module(f"bench.{names[0]}").run()
        print(f"   ({time.monotonic() - started:.0f} s)")
        return 0
    for name in names or found:
        if status := subprocess.run([sys.executable, "-m", "bench", name]).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
