"""Run every bench, or those named: `python -m bench [name …]`. Each is a module of this package with a `run()`."""

import importlib
import pkgutil
import sys
import time

import bench

NOT_A_BENCH = {"__main__", "measure", "priced"}


def main(names: list[str]) -> int:
    """Run them one after the other."""
    found = [module.name for module in pkgutil.iter_modules(bench.__path__) if module.name not in NOT_A_BENCH]
    for name in names or found:
        if name not in found:
            print(f"there is no bench {name}; there are {', '.join(found)}", file=sys.stderr)
            return 2
    for name in names or found:
        started = time.monotonic()
        print(f"\n== {name}")
        importlib.import_module(f"bench.{name}").run()
        print(f"   ({time.monotonic() - started:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
