"""The documents of the families of this package: how each is recognised, written and read."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.spec.codec.by_fields import Decoder, Encoder
from panewise.spec.codec.forms import FORMS
from panewise.spec.codec.users import ANY_USER
from panewise.spec.protocol import Users

_ENCODER: Final = Encoder(FORMS)
write: Final = _ENCODER.write


def read(kind: Any, document: Any, users: Users = ANY_USER, where: str = "") -> Any:
    """Returns the value of a type that a plain value describes.

    Raises:
        SpecError: as :func:`panewise.spec.codec.from_dict` does.

    >>> from panewise import FixedLag, Inputs
    >>> read(FixedLag | Inputs, {"kind": "fixed_lag", "lag": 5}, where="watermark")
    FixedLag(lag=Duration('5 microseconds'))
    """
    return Decoder(FORMS, users).read(kind, document, where)


def documents(spec: type, *marks: str) -> dict[str, Any]:
    """Returns the functions of :class:`panewise.spec.protocol.SpecParts` for documents of a class, by name.

    Args:
        spec: the class.
        marks: the fields by which a document of this class is recognised among those of the families that
            follow in :data:`panewise.families.FAMILIES`.
    """

    def reads(document: Mapping[str, Any]) -> bool:
        return all(mark in document for mark in marks)

    def to_dict(value: Any) -> dict[str, Any]:
        return dict(write(value))

    def from_dict(document: Mapping[str, Any], users: Users) -> Any:
        return read(spec, document, users)

    return {"reads": reads, "to_dict": to_dict, "from_dict": from_dict}
