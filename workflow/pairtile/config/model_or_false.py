"""A section that ``false`` turns off: the two parts of such a key's type.

``Annotated[Annotated[Dpi, Tag("<dpi>")] | Annotated[Literal[False], Tag("<false>")],
model_or_false(Dpi), Form(model_or_false_form(Dpi))]`` is a section ``Dpi`` or false. The tag is
the section's name in small letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Discriminator

from pairtile.config.models import ConfigModel
from pairtile.config.values import EXPECTED, listed


def model_or_false(section: type[ConfigModel]) -> Discriminator:
    """Tells ``false`` from a mapping, and refuses all else in words."""

    tag = f"<{section.__name__.lower()}>"

    def form(value: Any) -> str | None:
        if value is False:
            return "<false>"
        return tag if isinstance(value, Mapping | section) else None

    return Discriminator(
        form,
        custom_error_type=EXPECTED,
        custom_error_message="{expected}",
        custom_error_context={"expected": model_or_false_form(section), "choices": ""},
    )


def model_or_false_form(section: type[ConfigModel]) -> str:
    """What is allowed, in words."""
    return f"false, or a mapping with keys {listed(tuple(section.model_fields), 'and')}"
