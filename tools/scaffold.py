"""Writes the skeleton of an extension: ``make scaffold KIND=match NAME=nearest_key``.

docs/extending.md says how to fill it in. A template, such as templates/match.yaml, has new files, and what is
inserted into files that exist: imports, and what stands between {+ and +} at a text that is there once.
In a new file ``# imports PATH`` stands for the imports of a file, and ``# methods of PATH:CLASS only NAMES``
for methods of a class; without names for all that are public. These raise NotImplementedError, which
tests/house/test_sources.py lists.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path
from string import Template
from textwrap import indent

import yaml

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = {path.stem: path for path in sorted(ROOT.glob("tools/templates/*.yaml"))}
_METHODS = re.compile(r"^( *)# methods of ([\w/.]+):(\w+)(?: only ([\w ]+))?$", re.MULTILINE)
_IMPORTS = re.compile(r"^# imports ([\w/.]+)$", re.MULTILINE)
_INSERTED = re.compile(r"\{\+(.*?)\+\}", re.DOTALL)


def scaffold(kind: str, name: str, root: Path = ROOT) -> list[Path]:
    """Writes the skeleton under a root. Returns the new files, then the changed ones.

    Raises:
        SystemExit: for another kind, a name that is not in snake_case, and a file that exists already.
    """
    if kind not in TEMPLATES or not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        sys.exit(
            f"KIND={kind} NAME={name} | kinds are {', '.join(TEMPLATES)}; a name is in snake_case | give both"
        )
    words = {"name": name, "Name": name.title().replace("_", ""), "NAME": name.upper()}
    template = yaml.safe_load(Template(TEMPLATES[kind].read_text(encoding="utf-8")).substitute(words))
    new = {root / path: _expanded(content, root) for path, content in template["new"].items()}
    if any(path.exists() for path in new):
        sys.exit(f"{kind} {name} | a scaffold replaces no file | take another name")
    changed = {root / path: _changed(root / path, edits, root) for path, edits in template["changed"].items()}
    for path, content in {**new, **changed}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for paths, rules in ((new, "I,F401"), (changed, "I,RUF022")):
        if paths:  # without a file ruff would take all
            _tidy([str(path) for path in paths], rules)
    return [*new, *changed]


def _changed(path: Path, edits: list[str], root: Path) -> str:
    """Returns the text of a file with what is inserted."""
    text = path.read_text(encoding="utf-8")
    for edit in edits:
        new, old = _INSERTED.sub(r"\1", edit), _INSERTED.sub("", edit)
        if edit.startswith("from "):
            old, new = re.search(r"^(from|import) .*$", text, re.MULTILINE)[0], edit  # type: ignore[index]
            new += f"\n{old}"
        elif text.count(old) != 1:
            sys.exit(
                f"{path} has {old!r} {text.count(old)} times | it is there once | change tools/templates"
            )
        text = text.replace(old, _expanded(new, root), 1)
    return text


def _expanded(content: str, root: Path) -> str:
    """Returns the content of a new file with code in the place of the two comments."""
    content = _IMPORTS.sub(lambda found: _imports(root / found[1]), content)
    return _METHODS.sub(
        lambda found: indent(_methods(root / found[2], found[3], found[4]), found[1]), content
    )


def _imports(path: Path) -> str:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return "\n".join(ast.unparse(node) for node in body if isinstance(node, (ast.Import, ast.ImportFrom)))


def _methods(path: Path, kind: str, only: str | None) -> str:
    """Returns methods of a class with their docstrings, and an error in the place of each body."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    body = next(node for node in nodes if isinstance(node, ast.ClassDef) and node.name == kind).body
    found = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    names = [name for name in found if name[0] != "_" or name == "__call__"] if only is None else only.split()
    if missing := [name for name in names if name not in found]:
        sys.exit(f"{path} has no {missing} in {kind} | templates name what exists | change tools/templates")
    for node in map(found.__getitem__, names):
        node.decorator_list = [one for one in node.decorator_list if "abstract" not in ast.unparse(one)]
        node.body = [*node.body[:1], *ast.parse(f"raise NotImplementedError('{node.name}')").body]
    return "\n".join(ast.unparse(found[name]) for name in names)


def _tidy(paths: list[str], rules: str) -> None:
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--quiet", "--fix", "--exit-zero", "--select", rules, *paths], check=True)
    subprocess.run([*ruff, "format", "--quiet", *paths], check=True)


if __name__ == "__main__":
    written = [str(path.relative_to(ROOT)) for path in scaffold(*sys.argv[1:])]
    sys.stdout.write("\n".join([*written, "Then follow docs/extending.md.", ""]))
