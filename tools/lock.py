"""Resolves pyproject.toml into requirements.lock: exact versions with hashes, for every platform.

Versions in the present lock are kept unless pyproject.toml excludes them; `--upgrade` updates all of them.
The lock names no index: an installation uses the index that pip is configured with.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("spark", "connect", "testing", "demo")


def main() -> int:
    """Runs uv, which is in the development environment; returns its exit code."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--group", "dev"]
    for extra in EXTRAS:
        command += ["--extra", extra]
    command += [
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--no-emit-index-url",
        "--no-emit-find-links",
    ]
    command += ["--no-header", "--quiet", "--output-file", "requirements.lock", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
