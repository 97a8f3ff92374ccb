"""The end of a cold start."""

import gc
import os


def started() -> None:
    """Set aside what start-up made, which will never be garbage, and collect from now on."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        gc.freeze()
        gc.enable()
