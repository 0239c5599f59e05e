"""Extension of Griffe (mkdocs.yml): library functions with the keywords of the settings models.

Griffe reads source, where a function with ``pairtile.api.keywords`` has only ``**settings``; pages
have the signature and docstring that ``help()`` shows.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe


class Keywords(griffe.Extension):
    """Signature and docstring of what is decorated by ``Keywords.signature``."""

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        if not any(str(one.value).endswith(".signature") for one in func.decorators):
            return
        function: Any = import_module(func.module.path)
        for name in func.path.removeprefix(f"{func.module.path}.").split("."):
            function = getattr(function, name)
        assert func.docstring is not None
        func.docstring.value = inspect.getdoc(function) or ""
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    one.name,
                    annotation=None if one.annotation is one.empty else one.annotation,
                    kind=griffe.ParameterKind(one.kind.description),
                    default=None if one.default is one.empty else repr(one.default),
                )
                for one in inspect.signature(function).parameters.values()
            )
        )
