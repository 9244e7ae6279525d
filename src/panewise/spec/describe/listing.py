"""Lists of names for sentences."""


def listed(names: tuple[str, ...], word: str = "and") -> str:
    """Joins one or more names with commas, and with `word` before the last name.

    >>> listed(("a", "b", "c"), "or")
    'a, b or c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
