"""Streaming SQL over a Polars frame, without Spark.

Output:

    09:00 cart 1
    09:00 home 2
    10:00 home 1
"""

from datetime import UTC, datetime

import polars as pl

from panewise.standalone import sql

QUERY = """
    SELECT window_start, page, count(*) AS hits
    FROM TABLE(TUMBLE(TABLE visits, DESCRIPTOR(at), INTERVAL '1' HOUR))
    GROUP BY window_start, window_end, page
"""


def main() -> None:
    """Runs the program."""
    visits = pl.DataFrame(
        {
            "page": ["home", "cart", "home", "home"],
            "at": [datetime(2024, 5, 1, hour, 10, tzinfo=UTC) for hour in (9, 9, 9, 10)],
        }
    )
    panes = sql(QUERY, visits=visits).panes
    for start, page, hits in panes.select("window_start", "page", "hits").iter_rows():
        print(f"{start:%H:%M}", page, hits)


if __name__ == "__main__":
    main()
