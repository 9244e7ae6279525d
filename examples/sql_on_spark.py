"""A Spark query as it is, with early results by EMIT.

Output:

    a 9 30
    b 10 30
"""

from panewise.demo.job import session
from panewise.spark import sql

QUERY = """
    SELECT shop, window.start AS hour, sum(amount) AS amount
    FROM {orders}
    GROUP BY shop, window(at, '1 hour')
    EMIT AFTER WATERMARK
"""


def main() -> None:
    """Runs the program."""
    spark = session()
    orders = spark.sql("""
        SELECT * FROM VALUES
            ('a', TIMESTAMP'2024-05-01 09:10:00', 10), ('a', TIMESTAMP'2024-05-01 09:50:00', 20),
            ('b', TIMESTAMP'2024-05-01 10:10:00', 30) AS orders(shop, at, amount)""")
    panes = sql(QUERY, orders=orders).panes.orderBy("shop")
    for row in panes.select("shop", "hour", "amount").collect():
        print(row.shop, row.hour.hour, row.amount)


if __name__ == "__main__":
    main()
