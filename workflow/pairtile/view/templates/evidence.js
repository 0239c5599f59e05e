// The side panel: what the page knows of the item or the pair that is chosen.
"use strict";
{
  const MAX_PARTNERS = 200;
  const byId = (name) => document.getElementById(`evidence-${name}`);
  const panel = document.getElementById("evidence");
  const [title, body, more] = ["title", "body", "more"].map(byId);
  const data = evidenceData;
  const { edges, directed, word } = networkData;
  const named = new Set(networkData.nodes.map(([name]) => name));
  // Genes of pairs that differ between groups need no edge.
  const nodes = [...networkData.nodes, ...evidenceItems.filter((name) => !named.has(name)).map((name) => [name, 0, 0, 0, 0, 0])];
  const nodeOf = new Map(nodes.map(([name], node) => [name, node]));
  nodes.forEach(([, , , , , , identifier], node) => {
    if (identifier && !nodeOf.has(identifier)) nodeOf.set(identifier, node);
  });
  const drawPair = data.samples && sampleDrawing(data.samples).pair;
  const drawProfile = data.profiles && sampleDrawing(data.profiles).profile;
  const nameOf = (node) => nodes[node][0];
  const counted = (n, one) => `${writtenCount.format(n)} ${one}${n === 1 ? "" : "s"}`;
  const element = (name, ...content) => {
    const made = document.createElement(name);
    made.append(...content);
    return made;
  };

  function table(caption, headings, rows) {
    const cells = (row, name) => element("tr", ...row.map((cell) => element(name, cell)));
    return element("table", element("caption", caption), element("thead", cells(headings, "th")), element("tbody", ...rows.map((row) => cells(row, "td"))));
  }
  // The edges of an item, strongest first, each partner once for each direction.
  function partners(node) {
    const own = edges.flatMap(([source, target, score], k) => (source === node || target === node ? [[source === node, source === node ? target : source, score, k]] : []));
    const rows = own.slice(0, MAX_PARTNERS).map(([from, other, score, k]) => [
      chooser([nameOf(other)], nameOf(other)),
      ...(directed ? [from ? "target" : "source"] : []),
      chooser([nameOf(edges[k][0]), nameOf(edges[k][1])], score === null ? "–" : writtenDecimal(score)),
    ]);
    const caption = `${counted(own.length, data.edge)}${own.length > MAX_PARTNERS ? `, the ${MAX_PARTNERS} strongest` : ""}`;
    return table(caption, ["with", ...(directed ? ["which is its"] : []), data.strength], rows);
  }
  function showItem(node) {
    const [name, , , degree, , module, identifier] = nodes[node];
    title.replaceChildren(name);
    const facts = element("p", ...(identifier ? [`${identifier}. `] : []), `${counted(degree, data.edge)} in the whole network`);
    if (module) {
      const link = element("a", `${word} ${module}`);
      link.href = `#module=${module}`;
      facts.append(", in ", link);
    }
    const links = linksOut([name, ...(identifier ? [identifier] : [])], data.symbols, data.structure).map(([database, address]) => {
      const link = element("a", database);
      Object.assign(link, { href: address, rel: "noreferrer", target: "_blank" });
      return element("li", link);
    });
    const out = element("ul", ...links);
    out.className = "out";
    body.replaceChildren(facts, out, partners(node));
  }

  // The rows of the result that join two items, whichever comes first.
  const between = (pair) => edges.flatMap(([source, target], k) => (pair.includes(source) && pair.includes(target) && source !== target ? [k] : []));
  const inTable = (lines) => element("table", element("caption", "In the table"), element("tbody", ...lines));
  function rowsOf(found) {
    const headings = [...document.querySelectorAll("#edges-table thead th")];
    const lines = edgeColumns.map((column, c) => {
      const heading = element("th", headings[c].textContent.trim());
      heading.title = headings[c].title;
      return element("tr", heading, ...found.map((k) => element("td", column.data([k], column.type === "num" ? "filter" : "sort"))));
    });
    return inTable(lines);
  }
  function showPair(pair) {
    const found = between(pair);
    // As the row has it: the source first.
    const names = (found.length ? edges[found[0]].slice(0, 2) : pair).map(nameOf);
    title.replaceChildren(chooser([names[0]], names[0]), directed ? " → " : " – ", chooser([names[1]], names[1]));
    const rows = found.length ? rowsOf(found) : element("p", `No ${data.edge} of the table joins the two.`);
    const cells = found.length === 1 ? [...rows.querySelectorAll("td")].map((cell) => cell.textContent) : [];
    const figure = drawPair && drawPair(names, found, cells);
    const without = `The page carries the values of the ${evidenceItems.length} ${data.item}s of the strongest ${data.edge}s: pairtile view results/${data.folder} shows those of every pair.`;
    body.replaceChildren(
      ...(figure ? [figure] : data.samples ? [element("p", without)] : []),
      rows,
    );
  }

  // What a row of tests compares, and the row as it stands in its table.
  function rowOfTest({ headings, row }) {
    return inTable([...row.cells].map((cell, c) => {
      const copy = cell.cloneNode(true);
      copy.querySelector("summary")?.remove();
      return element("tr", element("th", headings[c]), element("td", ...(copy.querySelector("details") ?? copy).childNodes));
    }));
  }
  function showTest(items, figure) {
    const tested = testRows.get(chosenAddress(items));
    title.replaceChildren(tested?.title ?? items.join(" by "));
    body.replaceChildren(...(figure ? [figure] : []), ...(tested ? [rowOfTest(tested)] : []));
  }
  // Of a list the edges among its items, of a directed network those to them.
  function showList(items, chosen) {
    showTest(items);
    const some = new Set(chosen);
    const found = edges.flatMap(([source, target], k) => (some.has(target) && (directed || some.has(source)) ? [k] : []));
    const rows = found.slice(0, MAX_PARTNERS).map((k) => {
      const names = edges[k].slice(0, 2).map(nameOf);
      return [...names.map((name) => chooser([name], name)), chooser(names, edges[k][2] === null ? "–" : writtenDecimal(edges[k][2]))];
    });
    const cut = found.length > MAX_PARTNERS ? `, the ${MAX_PARTNERS} strongest` : "";
    body.append(table(`${counted(found.length, data.edge)} ${directed ? "to" : "among"} these ${some.size} ${data.item}s${cut}`, [...data.ends, data.strength], rows));
  }

  let before = null; // what had the focus
  const close = () => choose([]);
  byId("close").addEventListener("click", close);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && panel.dataset.open) close();
  });
  const marked = new CSSStyleSheet();
  document.adoptedStyleSheets.push(marked);
  document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
    const chosen = items.map((name) => nodeOf.get(name)).filter((node) => node !== undefined);
    const figure = items.length === 2 && drawProfile?.(...items);
    const open = Boolean(figure) || chosen.length > 2 || (items.length > 0 && chosen.length === items.length);
    const links = document.activeElement?.closest("a[href^='#']");
    document.documentElement.classList.toggle("looking", open);
    marked.replaceSync(open ? `main a[href="${chosenAddress(items)}"] { background: var(--seed-paper); }` : "");
    more.replaceChildren();
    if (!open) {
      delete panel.dataset.open;
      if (panel.contains(document.activeElement)) before?.focus();
      return;
    }
    panel.dataset.open = items.join();
    if (figure) showTest(items, figure);
    else if (chosen.length > 2) showList(items, chosen);
    else if (chosen.length > 1) showPair(chosen);
    else showItem(chosen[0]);
    panel.scrollTop = 0;
    // From a link the focus goes along, and back when the panel closes; a search goes on.
    if (links && !panel.contains(links)) before = links;
    if (links) title.focus();
  });
  title.tabIndex = -1;
}
