"""How the series of an analysis of trajectories are read: frames, and tables of time series."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pairtile.config.models import ConfigModel
from pairtile.config.values import Choice, Text, Whole
from pairtile.methods.trajectory_correlation.config_values import FrameNumber

_MAX_FRAME = 2**31 - 1


class FramesConfig(ConfigModel):
    """Which frames of each trajectory are used, numbered from 0."""

    start: Annotated[int, FrameNumber(-_MAX_FRAME, _MAX_FRAME)] = Field(
        default=0,
        description=(
            "The first frame, to leave out equilibration; negative counts from the end (-500: the "
            "last 500)."
        ),
    )
    stop: Annotated[int | None, FrameNumber(-_MAX_FRAME, _MAX_FRAME, optional=True)] = Field(
        default=None, description="The frame before which to stop; null: go to the end."
    )
    step: Annotated[int, Whole(1, 1_000_000)] = Field(
        default=1, description="Use every so many frames. Nearby frames add little; they cost time."
    )

    @property
    def as_slice(self) -> slice:
        """The same as a slice of Python."""
        return slice(self.start, self.stop, self.step)


class SeriesTableConfig(ConfigModel):
    """How tables of time series are read: text with one frame a line (tabs, commas or blanks;
    `.gz`; GROMACS `.xvg`; PLUMED `COLVAR`), or NumPy `.npy`."""

    dimensions: Annotated[int, Whole(1, 3)] = Field(
        default=1,
        description=(
            "Columns of a variable: 1, or 2 or 3 columns in a row that belong together, such as x, "
            "y, z. A `.npy` of three dimensions (frames, variables, dimensions) tells by itself."
        ),
    )
    angles: Annotated[Literal["none", "radians", "degrees"], Choice()] = Field(
        default="none",
        description="Whether the values are angles, for `kind: dihedral`, and in which unit.",
    )
    time: Annotated[str | None, Text("auto, or the name of a column", optional=True)] = Field(
        default="auto",
        description=(
            "The column that is no variable but the time. `auto`: a first column named time, "
            "frame, step or the like. null: none."
        ),
    )
