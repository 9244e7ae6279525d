"""Tables of text, as commands print them."""

from collections.abc import Container, Sequence


def aligned(rows: Sequence[Sequence[str]], right: Container[int]) -> list[str]:
    """Returns the lines of a table. Columns with the numbers in `right` are aligned to the right.

    >>> aligned([("shard", "keys"), ("7", "1,024")], {1})
    ['shard   keys', '7      1,024']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (
        [
            text.rjust(width) if number in right else text.ljust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    )
    return ["  ".join(row).rstrip() for row in padded]
