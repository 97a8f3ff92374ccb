"""How the server is asked to run."""

from pathlib import Path

import pytest

from tools.serving.settings import Settings, UsageError


def test_without_variables_it_is_moto_at_port_3000_of_this_machine_alone() -> None:
    settings = Settings.of({})
    assert (settings.host, settings.port, settings.state, settings.endpoint) == ("127.0.0.1", 3000, None, None)
    assert settings.template == Path.cwd() / "template.yaml"
    assert settings.local == Path.cwd() / ".local"


def test_make_passes_variables_on_and_empty_ones_count_as_absent() -> None:
    assert Settings.of({"PORT": "", "STATE": "", "BACKEND": "", "HOST": ""}) == Settings.of({})
    assert Settings.of({"PORT": "0"}).port == 0
    assert Settings.of({"STATE": "kept"}).state == Path.cwd() / "kept"
    assert Settings.of({"BACKEND": "http://127.0.0.1:4566/"}).endpoint == "http://127.0.0.1:4566"


def test_the_url_is_one_a_client_can_use() -> None:
    assert Settings.of({}).url(3000) == "http://127.0.0.1:3000"
    assert Settings.of({"HOST": "0.0.0.0"}).url(3000) == "http://127.0.0.1:3000"
    assert Settings.of({"HOST": "10.0.0.7"}).url(3000) == "http://10.0.0.7:3000"


@pytest.mark.parametrize(
    "environment",
    [
        {"PORT": "http"},
        {"PORT": "65536"},
        {"PORT": "-1"},
        {"BACKEND": "localhost:4566"},
        {"STATE": "a", "BACKEND": "http://b"},
    ],
)
def test_what_makes_no_sense_is_refused(environment: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        Settings.of(environment)
