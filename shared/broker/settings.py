"""What a function reads from its environment, once."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The names of the resources of one deployment.

    Attributes:
        edges_table: The immutable edge table.
        state_table: The table of rows that change.
        bucket: Documents and big payloads.
        kms_key_id: The key that wraps the tenants' data keys.
        platform_secret_id: The secret holding the platform key; empty in functions that may not read it.
        version: The deployed version.
    """

    edges_table: str
    state_table: str
    bucket: str
    kms_key_id: str
    platform_secret_id: str
    version: str

    @classmethod
    def from_environment(cls) -> "Settings":
        """Read them.

        Raises:
            KeyError: One that every function needs is missing.
        """
        return cls(
            edges_table=os.environ["EDGES_TABLE"],
            state_table=os.environ["STATE_TABLE"],
            bucket=os.environ["BUCKET"],
            kms_key_id=os.environ["KMS_KEY_ID"],
            platform_secret_id=os.environ.get("PLATFORM_SECRET_ID", ""),
            version=os.environ.get("TOWPATH_VERSION", "0.0.0"),
        )
