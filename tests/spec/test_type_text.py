"""The texts of column types, read and written as Spark's DDL writes them."""

import pytest
from hypothesis import given

from panewise.errors import InputError
from panewise.oracle.columns import fields_of
from panewise.spec.column_values import ColumnType
from panewise.testing.drawn_types import column_types


@given(column_types())
def test_a_tree_writes_the_text_that_it_was_read_from(text: str) -> None:
    assert str(ColumnType.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("BIGINT", "bigint"),
        (" array < Bigint > ", "array<bigint>"),
        ("decimal(10, 2)", "decimal(10,2)"),
        ("STRUCT<A: bigint, b string>", "struct<A:bigint,b:string>"),
        ("struct<`a b`:bigint,`c``:d`:int>", "struct<`a b`:bigint,`c``:d`:int>"),
        ("struct<aé:date>", "struct<`aé`:date>"),
        ("map<string,map<bigint,array<struct<a:date>>>>", "map<string,map<bigint,array<struct<a:date>>>>"),
    ],
)
def test_texts(text: str, written: str) -> None:
    assert str(ColumnType.parse(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "array",
        "array<>",
        "array<bigint",
        "array<bigint>>",
        "map<string>",
        "struct<>",
        "struct<a:bigint,a:bigint>",
        "struct<a:bigint,>",
        "struct<<:bigint>",
        "decimal(a)",
        "decimal(1",
        "bigint bigint",
        5,
        None,
    ],
)
def test_malformed_texts_are_refused(text: str) -> None:
    with pytest.raises(
        InputError, match=r"a type is written as in Spark's DDL: .* \| give such a type"
    ) as caught:
        ColumnType.parse(text)
    assert caught.value.given == f"type={text!r}"


@pytest.mark.parametrize("text", ["struct<`a b`:bigint,`c``,<d`:array<int>>", "map<string,decimal(10,2)>"])
def test_the_oracle_reads_the_same_fields(text: str) -> None:
    assert fields_of(text) == {name: str(part) for name, part in ColumnType.parse(text).fields}
