"""Writes the skeleton of an extension: ``make scaffold KIND=match NAME=nearest_key``.

docs/extending.md says how to fill it in. A template, such as templates/match.yaml, has new files, and what is
inserted into files that exist: imports, and what stands between {+ and +} at a text that is there once.
``# imports of MODULE`` stands for the imports of a module, of which those stay that are used.
``# methods of MODULE:CLASS for OWN only NAMES`` stands for methods of a class, without names for all that are
public, and for their imports. The class OWN, if it is named, takes the place of the type variable S. The
methods raise NotImplementedError, which tests/house/test_sources.py lists.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from textwrap import indent

import yaml

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = {path.stem: path for path in sorted(ROOT.glob("tools/templates/*.yaml"))}
_CODE = re.compile(
    r"^( *)# (?:imports|methods) of ([\w.]+)(?::(\w+))?(?: for (\w+))?(?: only ([\w ]+))?$", re.MULTILINE
)
_INSERTED = re.compile(r"\{\+(.*?)\+\}", re.DOTALL)
_FIXED = ("check", "--fix", "--exit-zero", "--select")
_RUFF = ((*_FIXED, "F401"), (*_FIXED, "I,RUF022"), ("format",))


def scaffold(kind: str, name: str, root: Path = ROOT) -> list[Path]:
    """Writes the skeleton under a root. Returns the new files, then the changed ones.

    Raises:
        SystemExit: for another kind, a name that is not in snake_case, and a file that exists already.
    """
    if kind not in TEMPLATES or not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        sys.exit(f"{kind} {name} | kinds are {', '.join(TEMPLATES)}; a name is in snake_case | give both")
    words = {"name": name, "Name": name.title().replace("_", ""), "NAME": name.upper()}
    template = yaml.safe_load(Template(TEMPLATES[kind].read_text(encoding="utf-8")).substitute(words))
    new = {root / path: _expanded(content, root) for path, content in template["new"].items()}
    if any(path.exists() for path in new):
        sys.exit(f"{kind} {name} | a scaffold replaces no file | take another name")
    changed = {root / path: _changed(root / path, edits, root) for path, edits in template["changed"].items()}
    for path, content in {**new, **changed}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    modules = [path for path in (*new, *changed) if path.suffix == ".py"]
    for command in _RUFF:
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", *modules], check=True)
    return [*new, *changed]


def _changed(path: Path, edits: list[str], root: Path) -> str:
    """Returns the text of a file with what is inserted."""
    text = path.read_text(encoding="utf-8")
    for edit in edits:
        new, old = _INSERTED.sub(r"\1", edit), _INSERTED.sub("", edit)
        if edit.startswith("from "):
            old, new = re.search(r"^(from|import) .*$", text, re.MULTILINE)[0], edit  # type: ignore[index]
            new += f"\n{old}"
        elif (times := text.count(old)) != 1:
            sys.exit(f"{path} has {old!r} {times} times | it is there once | change tools/templates")
        text = text.replace(old, _expanded(new, root), 1)
    return text


def _expanded(content: str, root: Path) -> str:
    """Returns content with code in the place of the comments. Imports come after the docstring of a file."""
    named = [found.groups()[1:3] for found in _CODE.finditer(content)]
    imports = "\n".join(dict.fromkeys(line for one in named for line in _imports(root, *one)))
    content = _CODE.sub(lambda found: indent(_methods(root, *found.groups()[1:]), found[1]), content)
    return re.sub(r'\A""".*?"""\n', lambda found: f"{found[0]}{imports}\n", content, flags=re.DOTALL)


def _body(root: Path, module: str) -> list[ast.stmt]:
    return ast.parse((root / "src" / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")).body


def _imports(root: Path, module: str, kind: str | None) -> Iterator[str]:
    """Yields imports of single names: those of a module and, if a class is named, its classes and types."""
    for node in _body(root, module):
        match node:
            case ast.Import():
                yield ast.unparse(node)
            case ast.ImportFrom(module=source, names=names):
                yield from (f"from {source} import {ast.unparse(name)}" for name in names)
            case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)) if kind:
                yield f"from {module} import {name}"


def _methods(root: Path, module: str, kind: str | None, own: str | None, only: str | None) -> str:
    """Returns methods of a class with their docstrings, and an error in the place of each body.

    A class takes the place of the type variable S, if its name is given.
    """
    nodes = [node for node in _body(root, module) if isinstance(node, ast.ClassDef) and node.name == kind]
    found = {one.name: one for node in nodes for one in node.body if isinstance(one, ast.FunctionDef)}
    names = [name for name in found if name[0] != "_" or name == "__call__"] if only is None else only.split()
    if missing := [name for name in names if name not in found]:
        sys.exit(f"{module} has no {missing} in {kind} | templates name what exists | change tools/templates")
    for method in map(found.__getitem__, names):
        method.decorator_list = [one for one in method.decorator_list if "abstract" not in ast.unparse(one)]
        method.body = [*method.body[:1], *ast.parse(f"raise NotImplementedError('{method.name}')").body]
    text = "\n".join(ast.unparse(found[name]) for name in names)
    return text if own is None else re.sub(r"\bS\b", own, text)


if __name__ == "__main__":
    written = [str(path.relative_to(ROOT)) for path in scaffold(*sys.argv[1:])]
    sys.stdout.write("\n".join([*written, "Then follow docs/extending.md.", ""]))
