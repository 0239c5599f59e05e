// Names of the network's items in the page's tables choose them; where a row has two, the cell after
// them chooses the pair, and of the first rows every other cell. Before tables are made searchable, so
// that all of their rows have links.
// Numbers of modules lead to the drawing of the module. Rows of tests lead to what they compare: a
// profile and an annotation of the samples, or the genes of a set that a list has.
"use strict";
const evidenceData = JSON.parse(document.getElementById("evidence-data").textContent);
const evidenceItems = evidenceData.samples?.items ?? [];
function chooser(items, ...content) {
  const link = document.createElement("a");
  link.href = chosenAddress(items);
  link.append(...content);
  return link;
}
const testRows = new Map(); // address of what is compared -> title, headings and the row
{
  const BETWEEN = /(, | → | – )/; // in lists, paths and pairs
  const known = new Set([...networkData.nodes.map(([name]) => name), ...evidenceItems].filter((name) => !/^[\d.,]*$/.test(name)));
  const isName = (cell) => known.has(cell.textContent.trim());

  function link(text) {
    const parts = text.data.trim().split(BETWEEN);
    if (parts.some((part) => known.has(part))) {
      text.replaceWith(...parts.map((part) => (known.has(part) ? chooser([part], part) : part)));
    }
  }
  const drawn = new Set(networkData.modules.map(([number]) => String(number)));
  for (const table of document.querySelectorAll("main table.data:not([data-save='differential_hubs'])")) {
    const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim() === networkData.word);
    for (const { cells } of column < 0 ? [] : table.tBodies[0].rows) {
      const number = cells[column].textContent.trim();
      if (!drawn.has(number)) continue;
      const link = document.createElement("a");
      link.href = `#module=${number}`;
      link.append(number);
      cells[column].replaceChildren(link);
    }
  }
  const compared = new Set([...(evidenceData.profiles?.items ?? []), ...(evidenceData.profiles?.groups ?? []).map(({ heading }) => heading)]);
  const unfolded = (cell) => (cell?.querySelector("details")?.lastChild ?? cell)?.textContent.trim() ?? "";
  for (const [file, name, by, words] of evidenceData.tests) {
    for (const table of document.querySelectorAll(`main table[data-save="${file}"]`)) {
      const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
      for (const row of table.tBodies[0].rows) {
        const [first, second, genes, kind] = [name, by, "genes", "kind"].map((heading) => row.cells[headings.indexOf(heading)]);
        const items = words
          ? [words.replace("{}", unfolded(first)), unfolded(second)].filter((item) => compared.has(item))
          : [unfolded(first), ...unfolded(genes).split(", ")].filter((item) => known.has(item));
        if (items.length < 2) continue;
        second.replaceChildren(chooser(items, unfolded(second)));
        const title = words ? items.join(" by ") : `${unfolded(second)} in ${unfolded(kind)} ${unfolded(first)}`;
        testRows.set(chosenAddress(items), { title, headings, row });
      }
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
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("a, pre, summary")) texts.push(walker.currentNode);
    texts.forEach(link);
  }
}
