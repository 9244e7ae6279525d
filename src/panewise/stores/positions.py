"""How far a store has read its input."""

from panewise.errors import InputError


class TopicPositions:
    """The highest offset of each topic and partition.

    >>> positions = TopicPositions()
    >>> positions.advance("orders", 0, 7)
    >>> positions.advance("orders", 0, 5)
    >>> positions.by_topic()
    {'orders': {0: 7}}
    """

    def __init__(self, stored: dict[str, dict[str, int]] | None = None) -> None:
        self._offsets = {} if stored is None else stored  # the names of JSON's objects are texts

    def advance(self, topic: str, partition: int, offset: int) -> None:
        """Raises the offset of a partition; a lower one changes nothing.

        Raises:
            InputError: if the topic is no text, or the partition or the offset no int.
        """
        if type(topic) is not str or type(partition) is not int or type(offset) is not int:
            given = f"topic={topic!r}, partition={partition!r}, offset={offset!r}"
            raise InputError(given, "a topic is a text, a partition and an offset are ints", "convert them")
        of = self._offsets.setdefault(topic, {})
        of[str(partition)] = max(offset, of.get(str(partition), offset))

    def by_topic(self) -> dict[str, dict[int, int]]:
        """Returns the offsets by topic and partition."""
        return {topic: {int(one): last for one, last in of.items()} for topic, of in self._offsets.items()}

    def as_json(self) -> dict[str, dict[str, int]]:
        """Returns what the constructor takes."""
        return self._offsets
