"""What notebooks show: of a specification its words, and a small timeline of its windows."""

from panewise.families import part


class Shown:
    """Is shown as HTML in notebooks, by :mod:`panewise.spec.display`."""

    def _repr_html_(self) -> str:
        """Returns the words of the specification, and the timeline of its windows if it has any."""
        html: str = part("panewise.spec.display").html_of(self)
        return html
