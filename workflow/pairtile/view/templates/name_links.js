// Names of the network's items in the page's tables choose them; where a row has two, the cell after
// them chooses the pair, and of the first rows every other cell. Before tables are made searchable, so
// that all of their rows have links.
"use strict";
function chooser(items, ...content) {
  const link = document.createElement("a");
  link.href = chosenAddress(items);
  link.append(...content);
  return link;
}
{
  const BETWEEN = /(, | → | – )/; // in lists, paths and pairs
  const known = new Set(networkData.nodes.map(([name]) => name).filter((name) => !/^[\d.,]*$/.test(name)));
  const isName = (cell) => known.has(cell.textContent.trim());

  function link(text) {
    const parts = text.data.trim().split(BETWEEN);
    if (parts.some((part) => known.has(part))) {
      text.replaceWith(...parts.map((part) => (known.has(part) ? chooser([part], part) : part)));
    }
  }
  for (const row of document.querySelectorAll("main tbody tr")) {
    const names = [...row.cells].filter(isName);
    const next = names.length > 1 && row.cells[names.at(-1).cellIndex + 1];
    if (next && next.textContent.trim()) {
      const pair = names.slice(0, 2).map((cell) => cell.textContent.trim());
      next.replaceChildren(chooser(pair, ...next.childNodes));
      if (row.closest(".first-rows")) {
        row.addEventListener("click", ({ target }) => target.closest("a") || choose(pair));
      }
    }
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("a, pre")) texts.push(walker.currentNode);
    texts.forEach(link);
  }
}
