"""No module imports another that imports it, however far around, imports for types included."""

from __future__ import annotations

import grimp
import networkx as nx


def test_imports_have_no_circles() -> None:
    graph = grimp.build_graph("pairtile", exclude_type_checking_imports=False)
    imports = nx.DiGraph(
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    )
    circles = [sorted(group) for group in nx.strongly_connected_components(imports)]
    assert [group for group in circles if len(group) > 1] == []
    assert len(imports) > 300
