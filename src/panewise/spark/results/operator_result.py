"""What the outputs of all operator families have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import DataFrame

from panewise.errors import SetupError, SpecError
from panewise.spark.dataflow import Dataflow, unpacked
from panewise.spark.display import result_html
from panewise.spark.envelope import kind_of, labelled, port_of
from panewise.spark.query import WindowQuery
from panewise.spark.sinks import Sink, check_sinks
from panewise.spark.static_side import check_output
from panewise.spark.writer import WriteOptions, start
from panewise.spec import Specification
from panewise.spec.describe import describe


@dataclass(frozen=True)
class Given:
    """What `apply` was called with.

    Attributes:
        spec: the specification, which may contain expressions.
        apply_again: a function that applies another specification to the same input, with the same options.
    """

    spec: Specification
    apply_again: Callable[[Specification], Any]


@dataclass(frozen=True, repr=False)
class OperatorResult:
    """The outputs of an operator.

    Each of the DataFrames is a query of its own. `write` writes several outputs from one query.

    Attributes:
        spec: the specification, with names in the place of expressions.
        dataflow: the operator as a Spark plan.
        at_end: whether the end of a stream ends the input.
        given: what `apply` was called with.
    """

    OUTPUT: ClassVar[str] = "panes"  # what the family calls its first output

    spec: Specification
    dataflow: Dataflow
    at_end: bool
    given: Given

    def explain(self) -> str:
        """Returns a description in words of what is emitted and when."""
        return describe(self.spec)

    def __repr__(self) -> str:
        """Returns the class, the names of the outputs, and what kind of operator they come from."""
        kind = "stream" if self.dataflow.df.isStreaming else "batch"
        outputs = ", ".join(self._outputs())
        return f"<{type(self).__name__} of a {type(self.spec).__name__} over a {kind}: {outputs}>"

    def _repr_html_(self) -> str:
        """Returns the words of the specification, its timeline, and the columns of the outputs as HTML."""
        dtypes = {
            name: [
                (field.name, field.dataType.simpleString())
                for field in self.dataflow.unpacker(kind, all_columns=True).target.fields
            ]
            for name, kind in self._outputs().items()
        }
        return result_html(self.spec, dtypes)

    def _outputs(self) -> dict[str, str]:
        """Returns the kind of envelopes of each output, by its name in `write`."""
        ports = self.spec.ports
        rejected = [labelled(kind, port) for port in ports for kind in ("late", "invalid", "counts")]
        return {self._argument(kind): kind for kind in ("panes", *rejected)}

    def _write(self, sinks: Mapping[str, Sink | None], options: WriteOptions) -> WindowQuery:
        """Starts a query that writes outputs; `sinks` are by the kinds of envelopes, None for no sink."""
        given = {kind: sink for kind, sink in sinks.items() if sink is not None}
        for kind in given:
            check_output(port_of(kind), kind_of(kind), self.dataflow.static)
        check_sinks({self._argument(kind): sink for kind, sink in given.items()}, self.OUTPUT)
        if self.at_end and self.dataflow.df.isStreaming and not options.available_now:
            raise SpecError(
                "finish='at_end' without available_now",
                "only a run that ends can end its input",
                "give available_now=True",
            )
        return start(self.dataflow, given, options, at_end=self.at_end)

    def _argument(self, kind: str) -> str:
        """Returns the name that an output has in `write`, given its kind of envelopes."""
        return self.OUTPUT if kind == "panes" else kind

    def _alone(self, kind: str, *, whole_rows: bool) -> DataFrame:
        """Returns one kind of output as a query of its own."""
        dataflow = self.dataflow
        check_output(port_of(kind), kind_of(kind), dataflow.static)
        if dataflow.df.isStreaming and self.at_end:
            raise SetupError(
                "finish='at_end' without write()",
                "only write() can end the input of a stream",
                f"use result.write({self._argument(kind)}=..., checkpoint=..., available_now=True)",
            )
        packed = dataflow.packed(late_wanted=kind_of(kind) == "late", all_columns=whole_rows)
        schemas = dataflow.schemas(all_columns=whole_rows)
        unpack = dataflow.unpacker(kind, all_columns=whole_rows)
        if dataflow.df.isStreaming and unpack.flat:
            return dataflow.stepped(packed, schemas, direct=unpack)
        return unpacked(dataflow.stepped(packed, schemas), unpack)
