// The table of hits, a row made only when it is turned to: each opens its alignment.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("hits-data").textContent);
  const element = document.getElementById("hits-table");
  const [mirna, transcript, query, reference, seedBegin, seedEnd] = [
    "mirna", "transcript", "query", "reference", "seed_begin", "seed_end",
  ].map((name) => packedColumn(data[name]));
  const button = (k) =>
    `<button type="button" class="show-alignment" data-hit="${k}" aria-expanded="false" ` +
    `aria-label="Alignment of hit ${k + 1}">show</button>`;
  const columns = data.columns.map((column) => {
    if (column.kind !== "span") return tableColumn(column);
    const length = packedColumn(column.length);
    const written = (begin, k) => `${writtenInteger(begin)}–${writtenInteger(begin + length(k))}`;
    return numberColumn(packedColumn(column), written);
  });
  element.tBodies[0].replaceChildren(); // the first rows, for those without JavaScript
  const table = searchableTable(element, "No hit matches.", {
    data: Array.from({ length: data.n }, (_, k) => [k]),
    columns: [
      numberColumn((k) => k + 1, writtenInteger),
      linkedColumn(textColumn(mirna), (k) => [mirna(k)]),
      linkedColumn(textColumn(transcript), (k) => [transcript(k)]),
      { orderable: false, searchable: false, data: ([k], kind) => (kind === "display" ? button(k) : "") },
      ...columns,
    ],
    pageLength: data.rows_a_page,
    deferRender: true,
  });

  // Only aligned letters, the capitals, pair.
  const bonds = { AU: "|", UA: "|", AT: "|", TA: "|", CG: "|", GC: "|", GU: ":", UG: ":", GT: ":", TG: ":" };
  const pairs = (above, below) =>
    [...above].map((letter, column) => bonds[letter + below[column]] ?? " ").join("");
  const piece = (text, name) => {
    const span = document.createElement("span");
    if (name) span.className = name;
    span.textContent = text;
    return span;
  };
  function alignment(k) {
    const [above, below, begin, end] = [query(k), reference(k), seedBegin(k), seedEnd(k)];
    const lines = document.createElement("pre");
    lines.tabIndex = 0;
    for (const [before, text, after] of [
      ["miRNA      3' ", above, " 5'\n"],
      ["              ", pairs(above, below), "   \n"],
      ["transcript 5' ", below, " 3'"],
    ]) {
      lines.append(
        piece(before, "strand"), text.slice(0, begin), piece(text.slice(begin, end), "seed"),
        text.slice(end), piece(after, "strand"),
      );
    }
    return lines;
  }

  function turn(button) {
    const row = table.row(button.closest("tr"));
    const open = !row.child.isShown();
    if (open) row.child(alignment(Number(button.dataset.hit)), "alignment-row").show();
    else row.child.hide();
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "hide" : "show";
  }
  element.tBodies[0].addEventListener("click", (event) => {
    const button = event.target.closest(".show-alignment");
    if (button) turn(button);
  });

  // In the side panel, the hits of the chosen pair, each with its alignment.
  document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
    if (items.length < 2) return;
    const found = Array.from({ length: data.n }, (_, k) => k).filter((k) => items.includes(mirna(k)) && items.includes(transcript(k)));
    const parts = found.flatMap((k) => {
      const facts = document.createElement("p");
      const [score, site] = ["score", "site_begin"].map((name) => columns[data.columns.findIndex((column) => column.name === name)]);
      facts.textContent = `Hit ${k + 1} of the table: score ${score.data([k], "filter")}, at ${site.data([k], "filter")}`;
      return [facts, alignment(k)];
    });
    document.getElementById("evidence-more")?.replaceChildren(...parts);
  });

  // report.html#hit=NUMBER opens with the alignment of that row in view.
  const asked = location.hash.match(/^#hit=(\d+)$/);
  const wanted = asked && table.row(asked[1] - 1);
  if (wanted && wanted.any()) {
    table.page(Math.floor((asked[1] - 1) / table.page.len())).draw(false);
    turn(wanted.node().querySelector(".show-alignment"));
    wanted.node().scrollIntoView({ block: "center" });
  }
})();
