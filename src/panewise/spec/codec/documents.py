"""The documents of the families of this package: how each is recognised, written and read."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from panewise.families import part
from panewise.spec.codec.by_fields import Decoder, Encoder
from panewise.spec.codec.forms import FORMS
from panewise.spec.codec.users import ANY_USER
from panewise.spec.family_parts import S, SpecParts
from panewise.spec.fields import silently_replaced
from panewise.spec.protocol import Users
from panewise.spec.renaming import renamed_fields

_ENCODER: Final = Encoder(FORMS)
write: Final = _ENCODER.write


def value_of_document(kind: Any, document: Any, users: Users = ANY_USER, where: str = "") -> Any:
    """Returns the value of a type that a plain value describes.

    >>> from panewise import FixedLag, Inputs
    >>> value_of_document(FixedLag | Inputs, {"kind": "fixed_lag", "lag": 5}, where="watermark")
    FixedLag(lag=Duration('5 microseconds'))
    """
    return Decoder(FORMS, users).read(kind, document, where)


class DocumentedParts(SpecParts[S]):
    """The parts of a family of this package. Its documents are those of the fields of its class.

    `describe` of the module of the family's name in `panewise.spec.describe` has its words.

    Attributes:
        kind: the class of its specifications.
        own_fields: the fields by which a document is recognised among those of the families that follow in
            :data:`panewise.families.FAMILIES`.
    """

    kind: ClassVar[type]
    own_fields: ClassVar[tuple[str, ...]] = ()

    def reads(self, document: Mapping[str, Any]) -> bool:
        """Returns whether the document has these fields."""
        return all(name in document for name in self.own_fields)

    def describe(self, spec: S) -> str:
        """Returns what the operator does, as lines of text."""
        words: str = part(f"panewise.spec.describe.{spec.family.name}:describe")(spec)
        return words

    def to_dict(self, spec: S) -> dict[str, Any]:
        """Returns the specification as a dict of plain values."""
        return dict(write(spec))

    def renamed(self, spec: S, port: str, names: Mapping[str, str]) -> S:
        """Returns the specification with other names of the columns of a port. Names of panes stay."""
        return silently_replaced(spec, **renamed_fields(spec, port, names))

    def from_dict(self, document: Mapping[str, Any], users: Users) -> S:
        """Returns the specification that a dict describes."""
        spec: S = value_of_document(self.kind, document, users)
        return spec
