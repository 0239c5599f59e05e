"""What a section of the page is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as the page shows it: file name without suffix, words, and the SVG itself."""

    name: str
    title: str
    caption: str
    alternative: str
    svg: bytes


@dataclass(frozen=True)
class PageSection:
    """One part of the page.

    ``template`` is a file in templates/ that is given ``values``; ``scripts`` are files in
    vendor/ or templates/ which it needs, in order, each taken into the page once.
    """

    id: str
    title: str
    template: str
    values: dict[str, Any] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
