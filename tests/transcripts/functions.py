"""The window functions that transcripts name. Lambdas, so that they travel to Spark's workers as they are."""

from typing import Final

from panewise import Custom

USER_WINDOWS: Final = {
    window.name: window
    for window in (
        Custom.each(
            lambda row: None if row["to"] is None else [(row["event_time"] + n, row["to"]) for n in range(row["n"])],
            name="until",
            columns=["to", "n"],
        ),
    )
}
