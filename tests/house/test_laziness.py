"""`import panewise` is cheap, and so are the modules that Spark's driver and workers import.

Heavy packages load with the part that needs them.
"""

import subprocess
import sys
from pkgutil import iter_modules

import pytest

import panewise.spark

HEAVY = ("pyspark", "polars", "pyarrow", "pandas", "numpy", "matplotlib", "hypothesis", "yaml", "sqlglot")


def modules_of(statement: str) -> set[str]:
    probe = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded_by(statement: str) -> set[str]:
    return {name.split(".")[0] for name in modules_of(statement)}


def test_panewise_loads_nothing_heavy() -> None:
    assert loaded_by("import panewise, panewise.functions").isdisjoint(HEAVY)


def test_oracle_loads_nothing_heavy() -> None:
    assert loaded_by("import panewise.oracle").isdisjoint(HEAVY)


_ON_DRIVER = """
import sys
import polars as pl
from pyspark import cloudpickle
import panewise as pw
from panewise import functions as F
from panewise.spark.workers.processor import Processor
from panewise.spark.workers.processor_settings import Settings

spec = pw.WindowOperator(window=pw.Tumbling(5), aggregates=[F.count().alias('n')])
processor = Processor(Settings(spec, {'input': {'event_time': pl.Int64()}}, 1))
sys.stdout.write(cloudpickle.dumps(processor).hex())
"""


def test_the_processor_on_the_driver_loads_no_operator_and_no_polars() -> None:
    """The first micro-batch waits for it. It only declares the state."""
    done = subprocess.run([sys.executable, "-c", _ON_DRIVER], capture_output=True, text=True, check=True)
    statement = f"from pyspark import cloudpickle; cloudpickle.loads(bytes.fromhex('{done.stdout}'))"
    loaded = modules_of(statement)
    assert "panewise.spark.workers.processor" in loaded
    assert not {name for name in loaded if name.startswith(("panewise.engine", "panewise.state"))}
    assert {"polars", "pyarrow", "pandas", "numpy"}.isdisjoint(loaded)


_PLANS = """
import polars as pl
import panewise as pw
import panewise.spark.workers.pack
from panewise import Window, functions as F
from panewise.engine.registry import plan_for
from panewise.spec import over_operator
from panewise.streamwindow import count

first = pw.WindowOperator(window=pw.Tumbling(5), aggregates=[F.count().alias('n')])
over = over_operator({'total': F.sum('v').over(Window.orderBy('event_time'))}, 'event_time')
for spec in (first, first.then(aggregates=[F.sum('n')]), over, pw.StreamWindow.tumbling(count(3))):
    plan_for(spec, {'event_time': pl.Int64(), 'v': pl.Int64()})
"""


def test_pack_loads_no_operator() -> None:
    loaded = modules_of(f"exec({_PLANS!r})")
    assert "panewise.engine.policy.plan" in loaded
    assert loaded.isdisjoint(
        {
            "panewise.engine.windows.operator",
            "panewise.engine.chain.operator",
            "panewise.engine.over.operator",
            "panewise.engine.policy.operator",
            "pandas",
        }
    )


def test_names_of_the_spark_package_are_no_modules() -> None:
    """The import of a submodule would replace a lazily imported name that is the same."""
    names = {module.name for module in iter_modules(panewise.spark.__path__)}
    assert names.isdisjoint(panewise.spark.__all__)
    assert set(dir(panewise.spark)) >= set(panewise.spark.__all__)
    for name in panewise.spark.__all__:
        assert getattr(panewise.spark, name).__name__ == name
    with pytest.raises(AttributeError, match=r"^module 'panewise.spark' has no attribute 'no_such_name'$"):
        getattr(panewise.spark, "no_such_name")  # noqa: B009


def test_the_probe_sees_what_is_loaded() -> None:
    assert "polars" in loaded_by("import panewise.demo.picture")
