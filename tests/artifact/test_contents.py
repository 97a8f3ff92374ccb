"""What is shipped, and what is not."""

import importlib.util
from pathlib import Path

import pytest

from tests.template.repository import functions, modules
from tools.serving.template import Template

# Unzipped. Lambda's limit is 250 MB for a function with its layers; what is small is fetched and started sooner.
LAYERS_BYTES = 44 * 2**20
FUNCTION_BYTES = 64 * 2**10
UNCHECKED_HASH = 1
IN_THE_IMAGE = ("boto3", "botocore", "s3transfer")


def own_modules(artifact: Template) -> list[Path]:
    """The project's modules, as the artifact has them."""
    folders = [function.folder for function in artifact.functions]
    folders += [layer / "python" / name for layer, name in zip(artifact.layers, ("edge", "broker"), strict=True)]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def test_every_module_of_the_tree_is_shipped_and_no_other(artifact: Template, build: Path) -> None:
    origins = {"EdgeLayer": Path("layers/edge"), "BrokerLayer": Path("shared")}
    origins |= {function.logical_id: Path("functions", function.name) for function in functions()}

    def origin(shipped: Path) -> Path:
        resource, *inside = shipped.relative_to(build).parts
        return origins[resource].joinpath(*(inside[1:] if resource.endswith("Layer") else inside))

    assert sorted(map(origin, own_modules(artifact))) == sorted(modules("functions", "layers", "shared"))


def test_no_tests_or_tools_are_shipped(build: Path) -> None:
    assert not {"tests", "tools", "events", "conftest.py"} & {path.name for path in build.rglob("*")}


def test_what_the_image_has_is_not_shipped_again(artifact: Template) -> None:
    shipped = {path.name for layer in artifact.layers for path in (layer / "python").iterdir()}
    assert not shipped & set(IN_THE_IMAGE)


def test_functions_and_layers_are_within_their_budget(artifact: Template) -> None:
    def size(folder: Path) -> int:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    assert max(size(function.folder) for function in artifact.functions) < FUNCTION_BYTES
    assert sum(size(layer) for layer in artifact.layers) < LAYERS_BYTES


def test_every_module_is_compiled_from_what_is_shipped(build: Path) -> None:
    """Lambda's disk is read-only: what is not compiled here is compiled again by every cold start."""
    sources = list(build.rglob("*.py"))
    assert sources
    for source in sources:
        compiled = Path(importlib.util.cache_from_source(str(source)))
        assert compiled.is_file(), source
        header = compiled.read_bytes()[:16]
        assert header[:4] == importlib.util.MAGIC_NUMBER
        assert int.from_bytes(header[4:8], "little") == UNCHECKED_HASH
        assert header[8:16] == importlib.util.source_hash(source.read_bytes())


@pytest.mark.parametrize("name", ["cryptography", "pydantic_core", "xxhash", "cffi"])
def test_compiled_packages_run_on_lambda_s_glibc(artifact: Template, name: str) -> None:
    """python3.11 at Lambda runs on Amazon Linux 2, glibc 2.26."""
    (wheel,) = [p for layer in artifact.layers for p in (layer / "python").glob(f"{name}-*.dist-info/WHEEL")]
    assert "manylinux_2_17_x86_64" in wheel.read_text(encoding="utf-8")
