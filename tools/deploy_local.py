"""Deploys the built stack to an emulator of its own and keeps it up until Ctrl-C: `make deploy-local`.

Unlike `make run` this is what goes to AWS: the built artifact, deployed by the SAM CLI, each function in a process of
its own on a clean interpreter, with the rights of its own role and no more.
"""

import signal
import sys
import threading
from pathlib import Path

from tools.deployment import LAMBDA_PYTHON, ROOT, DeploymentError, deploy
from tools.engine_process import EngineError
from tools.ministack import ministack

BUILD = ROOT / ".aws-sam" / "build"


def serve(build: Path) -> None:
    """Deploy, say where, and wait to be told to stop."""
    with ministack(lambda_python=LAMBDA_PYTHON, environment={"AUTH": "true"}) as endpoint_url:
        deployment = deploy(build, endpoint_url=endpoint_url)
        print(f"URL           {deployment.url}")
        print(f"platform key  {deployment.platform_key}")
        print(f"AWS endpoint  {endpoint_url}")
        print("Ctrl-C ends it.", flush=True)
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        stop.wait()


def main() -> int:
    """The command line; exits 1 when the stack does not come up."""
    if not (BUILD / "template.yaml").is_file():
        print(f"{BUILD} holds no template.yaml: run `make build` first", file=sys.stderr)
        return 1
    try:
        serve(BUILD)
    except (DeploymentError, EngineError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
