"""AWS clients: one session, made once, its retries off (see `edge.retry`), traced if the deployment says so."""

import functools
import os
from typing import Any

import boto3
from botocore.config import Config

THREADS = 16
"""Connections a client keeps, and threads that use them side by side."""


@functools.cache
def session() -> boto3.session.Session:
    """The one session; clients made from it share its loaders, which is most of what a client costs."""
    return boto3.session.Session()


def make_client(service: str, *, attempts: int = 1) -> Any:
    """A client of one service, with connections enough for every thread of this layer.

    Args:
        service: `dynamodb`, `s3`, `kms`, ...
        attempts: What the SDK itself tries; 1 for all that passes `edge.retry`.
    """
    emulated = "AWS_ENDPOINT_URL" in os.environ
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=THREADS,
        connect_timeout=2,
        read_timeout=8,
        parameter_validation=False,
        tcp_keepalive=True,
        s3={"addressing_style": "path" if emulated else "auto"},
    )
    client = session().client(service, config=config)  # type: ignore[call-overload]  # the name is dynamic
    if os.environ.get("TOWPATH_TRACING") == "Active":
        from edge.tracing import trace  # nobody else pays for it

        trace(client)
    return client
