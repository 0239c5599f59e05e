"""Hook of MkDocs (mkdocs.yml): pages of the site that lie outside docs/, and links between them.

Every page is written to be read in the repository, with links from file to file. Here README.md
becomes the first page, and each link is turned to where its file lies in the site.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent

OUTSIDE = {
    "README.md": "index.md",
    "config/README.md": "configuration.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "LICENSE.txt",
    "SECURITY.md": "security-policy.md",
}
"""Path in the repository -> path in the site, where it is another."""

PANDAS_STYLE = re.compile(r"<style scoped>.*?</style>\s*|(?<=<table) [^>]*", re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from outside docs/, and the files that any page links to."""
    for path in sorted(set(OUTSIDE) | linked_files()):
        place = OUTSIDE.get(path, path)
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    for path in sorted(ROOT.glob("docs/notebooks/*.ipynb")):
        page = notebook_page(json.loads(path.read_text(encoding="utf-8")), path.name)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
    return files


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as a page: its text, its code, and what the cells gave."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                parts.append(f'<img alt="Figure" src="data:image/png;base64,{data["image/png"]}">')
            elif "text/html" in data:
                parts.append(PANDAS_STYLE.sub("", "".join(data["text/html"])))
            else:
                parts.append(f"```text\n{''.join(data['text/plain'])}\n```")
    title, rest = parts[0].split("\n", 1)
    link = f"To run it yourself: [{name}]({name})."
    return "\n\n".join([title, link, rest.strip(), *parts[1:]]) + "\n"


def linked_files() -> set[str]:
    """Files outside docs/ that pages link to, such as profiles and examples."""
    found = set()
    for page in [*ROOT.glob("docs/**/*.md"), *(ROOT / path for path in OUTSIDE)]:
        for _, link, _ in LINK.findall(page.read_text(encoding="utf-8")):
            target = Path(posixpath.normpath(page.parent / link.partition("#")[0]))
            outside = target.is_file() and ROOT / "docs" not in target.parents
            if outside and ROOT in target.parents:
                found.add(target.relative_to(ROOT).as_posix())
    return found


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    place = page.file.src_uri
    origin = next((path for path, to in OUTSIDE.items() if to == place), f"docs/{place}")
    parts = FENCE.split(markdown)
    fences = [*FENCE.findall(markdown), ""]
    linked = [LINK.sub(lambda m: m[1] + site_link(m[2], origin, place) + m[3], p) for p in parts]
    return "".join(text + fence for text, fence in zip(linked, fences, strict=True))


def site_link(link: str, origin: str, place: str) -> str:
    """Where a link of the repository's file ``origin`` leads on the page ``place`` of the site."""
    path, hash_sign, anchor = link.partition("#")
    if not path or re.match(r"[a-z]+:", link):
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    to = OUTSIDE.get(target, target.removeprefix("docs/"))
    if to.endswith(".ipynb") and posixpath.dirname(to) != posixpath.dirname(place):
        to = to.removesuffix(".ipynb") + ".md"
    return posixpath.relpath(to, posixpath.dirname(place) or ".") + hash_sign + anchor
