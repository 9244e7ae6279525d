"""Resolves pyproject.toml into requirements.lock: exact versions with hashes, for every platform.

Versions in the present lock are kept unless pyproject.toml excludes them; `--upgrade` updates all of them.
`--peers` resolves bench/peers-requirements.in into bench/peers-requirements.txt instead.
`--docs` resolves the group `docs` of pyproject.toml into requirements-docs.lock instead.
The lock names no index: an installation uses the index that pip is configured with.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("spark", "connect", "metrics", "postgres", "testing", "demo")


COMMON = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url")


def main() -> int:
    """Runs uv, which is in the development environment; returns its exit code."""
    options = [option for option in sys.argv[1:] if option not in ("--docs", "--peers")]
    source, lock = ["pyproject.toml", "--group", "dev"], "requirements.lock"
    for extra in EXTRAS:
        source += ["--extra", extra]
    if "--docs" in sys.argv:
        source, lock = ["--group", "docs"], "requirements-docs.lock"
    if "--peers" in sys.argv:
        source, lock = ["bench/peers-requirements.in"], "bench/peers-requirements.txt"
    command = [sys.executable, "-m", "uv", "pip", "compile", *source, *COMMON, "--no-emit-find-links"]
    command += ["--no-header", "--quiet", "--output-file", lock, *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
