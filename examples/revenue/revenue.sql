-- Revenue by product and hour, with early results, and the orders of each delivery.
-- Run it in the folder that contains `examples`:  panewise sql examples/revenue/revenue.sql
SET spark.sql.session.timeZone = 'UTC';
SET spark.sql.shuffle.partitions = 1;
SET panewise.checkpoint = 'out/revenue/checkpoints';
SET panewise.trigger = 'available now';
SET panewise.finish = at_end;

CREATE TEMPORARY VIEW orders (
  ts TIMESTAMP, id BIGINT, product STRING, price DECIMAL(10, 2), amount INT,
  WATERMARK ts DELAY OF INTERVAL '10' MINUTES
) USING json OPTIONS (path 'examples/revenue/orders', maxFilesPerTrigger 1);

CREATE TABLE late_orders USING json LOCATION 'out/revenue/late_orders';
CREATE TABLE bad_orders USING json LOCATION 'out/revenue/bad_orders';
CREATE TABLE revenue (product STRING, hour TIMESTAMP, revenue DECIMAL(20, 2), timing STRING)
  USING parquet OPTIONS (path 'out/revenue/revenue', late 'late_orders', invalid 'bad_orders');
CREATE TABLE best USING memory;

INSERT INTO revenue
SELECT product, window_start, sum(price * amount) AS revenue, timing
FROM TUMBLE(orders, ts, INTERVAL '1' HOUR)
GROUP BY product, window_start, window_end
EMIT EARLY EVERY UPDATE;

INSERT INTO best
SELECT id, product, price * amount AS total,
  avg(price * amount) OVER (PARTITION BY product ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS mean
FROM orders
WHERE amount > 0;

SELECT * FROM revenue ORDER BY hour, product, revenue, timing;
SELECT row.id, row.ts, reason FROM late_orders;
SELECT row.id, reason FROM bad_orders;
SELECT * FROM best ORDER BY id;
