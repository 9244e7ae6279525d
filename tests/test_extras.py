"""An error says which extra has a package that is missing."""

import subprocess
import sys

import pytest

from panewise.errors import MissingExtraError, RetiredNameError
from panewise.extras import from_extra

# The packages that are missing, what is run, and the extra in the error.
MISSING = [
    ("pyspark", "from panewise.spark import windowed", "spark"),
    ("pyspark", "import panewise.spark.compat", "spark"),
    ("pyspark", "import panewise.testing.dataframes", "spark"),
    ("pyspark", "from panewise.testing.runtimes import runtime; runtime('spark')", "spark"),
    ("hypothesis", "import panewise.testing.strategies", "testing"),
    ("yaml", "import panewise.testing.transcripts", "testing"),
    ("psycopg", "from panewise.spark.sinks.postgres_copy import psycopg; psycopg()", "postgres"),
    ("prometheus_client", "from panewise.spark.queries.observer import _needed_metrics as m; m()", "metrics"),
]


@pytest.mark.parametrize(("package", "code", "extra"), MISSING)
def test_the_error_names_the_extra(package: str, code: str, extra: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; {code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"panewise.errors.MissingExtraError: no package {package} | ")
    assert f" | pip install 'panewise[{extra}]' [PW-" in last
    assert last.count(" | ") == 2


def test_a_package_without_what_it_needs() -> None:
    """So psycopg is, without its library."""
    with (
        pytest.raises(MissingExtraError, match=r"^no wrapper \| a sink needs it \| pip install"),
        from_extra("postgres", "a sink needs it"),
    ):
        raise ImportError("no wrapper")


def test_other_errors_pass() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"panewise\.none"), from_extra("spark", "it is needed"):
        import panewise.none  # type: ignore[import-not-found]  # noqa: F401
    with pytest.raises(RetiredNameError), from_extra("spark", "it is needed"):
        raise RetiredNameError("a", "b", "c")
