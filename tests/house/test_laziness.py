"""`import panewise` is cheap: the heavy packages load with the part that needs them."""

import subprocess
import sys

HEAVY = ("pyspark", "polars", "pyarrow", "pandas", "numpy", "matplotlib", "hypothesis", "yaml")


def loaded_by(statement: str) -> set[str]:
    probe = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_panewise_loads_nothing_heavy() -> None:
    assert loaded_by("import panewise, panewise.functions").isdisjoint(HEAVY)


def test_oracle_loads_nothing_heavy() -> None:
    assert loaded_by("import panewise.oracle").isdisjoint(HEAVY)


def test_the_probe_sees_what_is_loaded() -> None:
    assert "polars" in loaded_by("import panewise.observe.picture")
