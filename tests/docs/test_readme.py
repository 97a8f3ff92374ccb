"""The README's tour, pasted into a shell line by line while the local server runs."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.serve.process import ROOT, running

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = re.findall(r"^```sh\n(.*?)^```", README.split("## Five minutes")[1].split("\n## ")[0], re.MULTILINE | re.DOTALL)


def test_the_tour_works_line_by_line(tmp_path: Path) -> None:
    for name in ("functions", "layers", "shared"):
        (tmp_path / name).symlink_to(ROOT / name)
    with running(Path(shutil.copy(ROOT / "template.yaml", tmp_path))):
        script = "set -eu\n" + "\n".join(TOUR)
        shell = ["bash", "-o", "pipefail", "-c", script]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"code":' not in done.stdout, "a problem"
    for shown in ('"status":"queued"', '"total":12.50', '"no such customer"', '"redriven":1', '"price":2.50'):
        assert shown in done.stdout
    for shown in ('"pending_enrichment"', '"sold":1', '"sum":0.3', '"city":"Köln"', '"due now"'):
        assert shown in done.stdout
    assert "due in an hour" not in done.stdout


def test_every_type_is_in_the_tour_or_has_a_page() -> None:
    from broker.queues.settings import SETTINGS

    for kind in SETTINGS:
        assert f"[{kind}](docs/" in README, "the table of types leads to its page"
