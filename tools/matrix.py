"""Runs the tests that depend on PySpark or pandas on every version of PySpark that an extra admits.

``python tools/matrix.py [VERSION|all] [pytest arguments]``. The locked version runs in ``.venv``. Each of the
others has an environment of its own, ``.venv-matrix-VERSION``. It is made from `requirements.lock` with
another PySpark, so every other package, pandas 2 included, has the locked version.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"

# The newest release of each minor version that the extras admit, and the hash of its source distribution.
VERSIONS = {
    "4.1.4": "bcbd5e18690cf79d438e97210ad06fb8d451a251bb77becc2b0418868d2acd73",
    "4.2.0": "5ad689d53570ee1674193fd4f9bda065f0db3be9363a27d2a3406cc457b70b61",
    "4.3.0": "e8c517948eff7088a7aa07449aa8eafa4a15a8d50319de2525a6fd26622476c6",
}
_PIN = re.compile(r"^pyspark==(\S+) \\\n(?: +--hash=\S+(?: \\)?\n)+", re.MULTILINE)


def locked(lock: str) -> str:
    """Returns the version of PySpark that a lock pins."""
    (version,) = _PIN.findall(lock)
    return str(version)


def pinned(lock: str, version: str) -> str:
    """Returns the lock with this version of PySpark in place of its own."""
    if version == locked(lock):
        return lock
    return _PIN.sub(f"pyspark=={version} \\\\\n    --hash=sha256:{VERSIONS[version]}\n", lock)


def chosen(asked: str) -> list[str]:
    """Returns the versions that an argument names."""
    if asked == "all":
        return list(VERSIONS)
    if asked not in VERSIONS:
        rule = f"the versions of the matrix are {', '.join(VERSIONS)}"
        sys.exit(f"PySpark {asked!r} | {rule} | give one of them, or add it to tools/matrix.py")
    return [asked]


def environment(version: str) -> Path:
    """Returns the Python of a version's environment.

    Creates the environment if it is missing or the lock has changed.
    """
    lock = LOCK.read_text(encoding="utf-8")
    if version == locked(lock):
        return Path(sys.executable)  # `make matrix` runs in .venv, which is made from the lock
    folder, wanted = ROOT / f".venv-matrix-{version}", pinned(lock, version)
    python, stamp = folder / "bin" / "python", folder / "requirements.lock"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    say(f"making {folder.name} (a minute or two)")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    part = folder / "requirements.txt"
    part.write_text(wanted, encoding="utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--require-hashes", "-r", str(part)], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)
    part.rename(stamp)
    return python


def run(version: str, arguments: list[str]) -> int:
    """Runs pytest on one version; returns its exit code."""
    python = environment(version)
    say(f"PySpark {version}")
    command = [
        str(python),
        "-m",
        "pytest",
        "-m",
        "versions and not soak",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    return subprocess.run(command, cwd=ROOT, env=_without_spark(os.environ), check=False).returncode


def _without_spark(environ: "os._Environ[str]") -> dict[str, str]:
    """Returns the variables without those that select another Spark or workers of another environment."""
    return {
        name: value
        for name, value in environ.items()
        if name not in ("SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    }


def say(text: str) -> None:
    """Prints a line at once, ahead of what subprocesses print."""
    sys.stdout.write(f"== {text}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Runs the versions one after the other; returns the highest exit code."""
    codes = {version: run(version, arguments[1:]) for version in chosen(arguments[0] if arguments else "all")}
    for version, code in codes.items():
        say(f"PySpark {version}: {'passed' if code == 0 else f'failed (pytest ended with {code})'}")
    return max(codes.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
