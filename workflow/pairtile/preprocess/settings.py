"""The `preprocess` section: defaults, and refusal of what is not allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from pairtile.errors import ConfigError

NORMALIZATIONS = ("none", "quantile", "cpm", "median_ratio", "zscore")
# Those that are defined on counts or intensities, so they come before the logarithm.
ON_RAW_VALUES = ("cpm", "median_ratio")


@dataclass(frozen=True)
class Settings:
    """Checked settings of preparation; the names are the configuration's keys."""

    log2: bool | str = "auto"
    pseudocount: float = 0.0
    normalize: str = "none"
    min_samples: int = 20
    drop_constant: bool = False

    @classmethod
    def of(cls, section: Any) -> Settings:
        """Check a `preprocess` section; keys left out have their defaults.

        Raises ConfigError naming key, value and what is allowed.
        """
        given = dict(section or {})
        allowed = [f.name for f in fields(cls)]
        for key in given:
            if key not in allowed:
                raise _refused(key, "an unknown key", ", ".join(allowed))
        settings = cls(**given)
        if not isinstance(settings.log2, bool) and settings.log2 != "auto":
            raise _refused("log2", repr(settings.log2), "auto, true or false")
        if not _is_number(settings.pseudocount) or not 0 <= settings.pseudocount < math.inf:
            raise _refused("pseudocount", repr(settings.pseudocount), "a number of 0 or more")
        if settings.normalize not in NORMALIZATIONS:
            raise _refused("normalize", repr(settings.normalize), ", ".join(NORMALIZATIONS))
        if not _is_whole(settings.min_samples) or settings.min_samples < 1:
            raise _refused("min_samples", repr(settings.min_samples), "a whole number from 1")
        if not isinstance(settings.drop_constant, bool):
            raise _refused("drop_constant", repr(settings.drop_constant), "true or false")
        return settings


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _refused(key: str, found: str, expected: str) -> ConfigError:
    return ConfigError.at("preprocess", key, found, expected)
