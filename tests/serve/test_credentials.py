"""The file that keeps credentials."""

from pathlib import Path

import pytest

from tools.serving.credentials import Credentials, read_credentials, write_credentials

CREDENTIALS = Credentials("http://127.0.0.1:3000", "platform.secret", "01TENANT", "01CLIENT.secret")


def test_only_this_user_can_read_what_is_written_even_over_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "credentials.json"
    path.write_text("{}")
    path.chmod(0o644)
    write_credentials(CREDENTIALS, path=path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_credentials(path) == CREDENTIALS
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"url": 1}', "null"])
def test_a_file_that_holds_no_credentials_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "credentials.json"
    assert read_credentials(path) is None
    path.write_text(text)
    assert read_credentials(path) is None
