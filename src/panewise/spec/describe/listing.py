"""Lists of names for sentences."""


def listed(names: tuple[str, ...], word: str = "and") -> str:
    """Joins one or more names with commas, and with `word` before the last name.

    >>> listed(("a", "b", "c"), "or")
    'a, b or c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def without_paragraphs(text: str, begins: tuple[str, ...]) -> list[str]:
    """Returns the lines of the other paragraphs: the lines of a paragraph after the first are indented."""
    others, skips = list[str](), False
    for line in text.split("\n"):
        skips = line.startswith(begins) or (skips and line.startswith(" "))
        others += [] if skips else [line]
    return others
