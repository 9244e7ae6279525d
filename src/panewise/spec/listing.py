"""Names in a sentence."""


def listed(names: tuple[str, ...], word: str = "and") -> str:
    """One name or more, with a word before the last.

    >>> listed(("a", "b", "c"), "or")
    'a, b or c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
