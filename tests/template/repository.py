"""What the architecture tests look at: the tree, the template, and the imports of a module."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

from tools.serving.template import Function, Template, read_template

ROOT = Path(__file__).parents[2]
SHIPPED = ("functions", "layers", "shared")
OURS = (*SHIPPED, "tools", "tests", "bench")


@cache
def template() -> Template:
    return read_template(ROOT / "template.yaml")


def functions() -> list[Function]:
    return list(template().functions)


def properties(kind: str) -> dict[str, Any]:
    """The properties of the template's resources of one type, by logical id."""
    return dict(template().resources_of(kind))


def modules(*folders: str) -> list[Path]:
    """Every Python module under folders of the repository, relative to its root."""
    return [path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def resource_name(folder: str) -> str:
    """`log_enqueue` is `LogEnqueue`."""
    return "".join(word.title() for word in folder.split("_"))


def dotted(module: Path) -> str:
    """The name a module is imported by: `shared/broker/log/keys.py` is `broker.log.keys`."""
    parts = module.with_suffix("").parts
    for root in (("layers", "edge"), ("shared",)):
        if parts[: len(root)] == root:
            parts = parts[len(root) :]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, *, module: str, package: bool) -> set[str]:
    """The absolute names a module imports, `from a import b` as both `a` and `a.b`, wherever the statement stands.

    Args:
        source: The module's text.
        module: The name it is imported by.
        package: Whether it is a package's `__init__`.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")
                above = above[: len(above) - node.level + package]
                base = ".".join([*above, base] if base else above)
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found
