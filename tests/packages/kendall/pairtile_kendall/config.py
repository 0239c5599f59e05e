"""What a configuration says under ``method: kendall``."""

from typing import Annotated, Literal

from pairtile.config.models import UsedBy
from pairtile.config.network import Chunks, ExportList, chunks_field, export_field
from pairtile.config.preprocess import ExpressionAnalysis
from pydantic import Field


class TauConfig(ExpressionAnalysis):
    """Kendall's rank correlation tau-a of all pairs of genes."""

    method: Literal["kendall"] = Field(description="The method.")
    min_tau: Annotated[float, Field(ge=0, le=1), UsedBy("score", "network")] = Field(
        default=0.5, description="Pairs whose tau is at least this, of either sign, become edges."
    )
    chunks: Chunks = chunks_field()
    export: ExportList = export_field()
