"""What runs in the Python workers of Spark: pack, the step of each shard, and unpack."""
