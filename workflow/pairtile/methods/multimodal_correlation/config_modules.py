"""Modules of a network: groups of genes that belong together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from pairtile.config.models import ConfigModel
from pairtile.config.values import Choice, Form, Number, model_or_false, model_or_false_form


class Modules(ConfigModel):
    """Modules: groups of genes with more edges among them than to others."""

    method: Annotated[Literal["leiden", "link_communities"], Choice()] = Field(
        default="leiden",
        description=(
            "`leiden`: each gene in one module, by modularity (Traag et al. 2019). "
            "`link_communities`: edges are grouped, by the same method on the graph of edges "
            "(Evans and Lambiotte 2010), so that a gene can be in several modules; refused where "
            "hubs make that graph too large."
        ),
    )
    resolution: Annotated[float, Number(above=0, high=1000)] = Field(
        default=1.0,
        description="Above 1 makes more and smaller modules, below 1 fewer and larger ones.",
    )


ModulesOrFalse = Annotated[
    Annotated[Modules, Tag("<modules>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(Modules),
    Form(model_or_false_form(Modules)),
]
