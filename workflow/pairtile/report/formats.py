"""Numbers and lists as a reader wants them: counts with separators, durations, sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from pairtile.config.values import join_list as join_words


def count(value: float) -> str:
    """``1234567`` -> ``1,234,567``."""
    return f"{round(value):,}"


def pluralise(value: float, singular: str, plural: str | None = None) -> str:
    """A count with its noun: ``pluralise(1, "edge")`` -> ``1 edge``, ``2 edges``."""
    return f"{count(value)} {singular if value == 1 else plural or singular + 's'}"


def number(value: float | str | None, digits: int = 3, *, pad: bool = False) -> str:
    """``value`` to ``digits`` significant digits; "–" where there is none.

    ``pad`` keeps trailing zeros in powers of ten too, for columns: ``1.000e-5``, not ``1e-5``.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    value = float(value)
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else f"{value:+.0f}".replace("+inf", "∞").replace("-inf", "−∞")
    if 1e-3 <= abs(value) < 10**digits:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        return f"{value:.{places}f}"
    if float(value).is_integer() and abs(value) < 1e7:
        return count(value)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if "." in mantissa and not pad:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def format_number(value: float) -> str:
    """A setting as one writes it, with a true minus sign: ``140``, ``−9``, ``0.5``, ``1e-5``."""
    digits, _, exponent = f"{value:g}".partition("e")
    digits = digits.replace("-", "−")
    return f"{digits}e{int(exponent)}" if exponent else digits


def percent(share: float) -> str:
    """A share of one as a percentage, never rounded to a false 0% or 100%."""
    if 0 < share < 0.001:
        return "under 0.1%"
    if 0.999 < share < 1:
        return "over 99.9%"
    return f"{number(100 * share, 3 if share < 0.1 else 2)}%" if share < 1 else "100%"


def duration(seconds: float) -> str:
    """``0.034`` -> ``34 ms``; ``75`` -> ``1 min 15 s``; ``7300`` -> ``2 h 1 min``."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def memory(size_bytes: float) -> str:
    """Bytes in binary units: ``1536`` -> ``1.5 KiB``."""
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


join_list = partial(join_words, last="and")
"""``["a", "b", "c"]`` -> ``a, b and c``."""


def largest(numbers: Mapping[object, int], noun: str, limit: int = 5) -> str:
    """The first ``limit`` of some names with numbers, largest first, and how many more have the
    number of the last: ``A (9 edges), B (4 edges) and 7 more with 4 edges``. "" where all of
    several names have the same number: none of them stands out.
    """
    values = [int(value) for value in numbers.values()]
    if not values or (len(values) > 1 and values[0] == values[-1]):
        return ""
    named = [f"{name} ({pluralise(int(n), noun)})" for name, n in list(numbers.items())[:limit]]
    least = values[:limit][-1]
    more = sum(value == least for value in values[limit:])
    return join_list(
        [*named, *([f"{count(more)} more with {pluralise(least, noun)}"] if more else [])]
    )


def largest_hub(numbers: Mapping[object, int], noun: str) -> str:
    """A sentence on the name with the largest number; "" where several have it."""
    (name, n), *others = numbers.items()
    if others and others[0][1] == n:
        return ""
    return f" The largest hub, {name}, has {pluralise(int(n), noun)}."


def shortened(name: str, limit: int = 24) -> str:
    """A name that has room in a figure."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def spaced(key: str) -> str:
    """A key as text: ``pairs_too_few_samples`` -> ``pairs too few samples``."""
    return key.replace("_", " ")
