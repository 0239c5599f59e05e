"""Constants of the fits of mixtures, on the scale of standardised values; both backends take them.

They were chosen by the recovery of planted modes: see ``benchmarks/bench_planted_modes.py``.
"""

from __future__ import annotations

from typing import Final

SHORT_STEPS: Final = 5
"""EM steps that each start is given before the best goes on alone."""

LIMIT: Final = 200
"""EM steps at most after that."""

KINC_LIMIT: Final = 100
"""EM steps at most as KINC does them."""

TOLERANCE: Final = 1e-5
"""A fit has settled once a step gains less than this for each sample, in bits."""

RIDGE: Final = 2e-3
"""Added to both variances of each component."""

PRIOR_SCATTER: Final = 0.5
"""Sum of squares on each axis that is added to a component's own, divided by K."""

PRIOR_SAMPLES: Final = 0.0
"""Samples that this scatter counts for."""

LEAST_SAMPLES: Final = 0.5
"""A fit whose component has the responsibility for fewer samples has failed. One sample far from
all others may be a component: the modes of the others are left alone then."""

DEGENERATE: Final = 1e-6
"""A pair with 1 - r^2 below this is one mode on a line: no mixture is fitted."""
