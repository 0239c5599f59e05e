"""The section ``modules``: how groups of genes are found."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pairtile.config.models import ConfigModel


class GeneModulesConfig(ConfigModel):
    """Modules: groups of genes that go together, their eigengenes, and how near each gene is."""

    method: Literal["leiden", "wgcna"] = Field(
        default="leiden",
        description=(
            "`leiden`: communities of the network that was inferred. `wgcna`: as R's WGCNA "
            "(`blockwiseModules`, one block) finds them, whatever the network."
        ),
    )
    resolution: Annotated[float, Field(gt=0, le=1000)] = Field(
        default=1.0,
        description="`leiden`: above 1 makes more and smaller modules, below 1 fewer, larger ones.",
    )
    power: Literal["auto"] | Annotated[float, Field(ge=1, le=50)] = Field(
        default="auto",
        description=(
            "`wgcna`: power of correlations. `auto`: the lowest with a scale-free fit of R² over "
            "0.85 (`pickSoftThreshold`), else the usual one for so many samples."
        ),
    )
    network_type: Literal["unsigned", "signed", "signed_hybrid"] = Field(
        default="unsigned",
        description=(
            "`wgcna`: whether genes that go against each other are near (`unsigned`, |r|), far "
            "(`signed`, (1 + r) / 2) or not joined (`signed_hybrid`, r where it is above 0)."
        ),
    )
    min_size: Literal["auto"] | Annotated[int, Field(ge=3, le=100_000)] = Field(
        default="auto",
        description="Genes of a module, at least. `auto`: 20 of `wgcna`, 5 of `leiden`.",
    )
    deep_split: Annotated[int, Field(ge=0, le=4)] = Field(
        default=2, description="`wgcna`: from 0, few large modules, to 4, many small ones."
    )
    cut_height: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.995, description="`wgcna`: height of the tree that no module reaches over."
    )
    merge_height: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.15,
        description="`wgcna`: modules become one where 1 - r of their eigengenes is below this.",
    )
    consensus: bool = Field(
        default=False,
        description="`wgcna`: modules that `other_samples` has, too; not tested by `max_p`.",
    )
    max_p: Annotated[float, Field(ge=0.01, le=1)] | None = Field(
        default=0.05,
        description=(
            "Modules with a larger p-value, the chance that noise gives as strong a module "
            "anywhere, are left out. null: no test, as in WGCNA, which finds modules in noise."
        ),
    )
