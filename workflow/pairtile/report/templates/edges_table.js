// The table of edges: those of the drawing, a row made only when it is turned to.
"use strict";
(() => {
  const table = document.getElementById("edges-table");
  const data = JSON.parse(document.getElementById("edges-data").textContent);
  const { nodes, edges } = networkData;
  const written = { integer: (value) => writtenCount.format(value), decimal: writtenDecimal, text: String };
  // DataTables writes cells as markup and reads it when it searches: every text is escaped for it.
  const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const texts = (value) => ({
    type: "string",
    data: ([k], kind) => (kind === "display" || kind === "filter" ? escaped(value(k)) : value(k)),
  });
  const numbers = (value, write) => ({
    type: "num",
    data: ([k], kind) => {
      if (kind === "display" || kind === "filter") return write(value(k));
      return value(k) ?? -1e308; // below all that have a value
    },
  });
  const columns = data.columns.map((column) => {
    // Without values of its own: the score that the drawing goes by.
    const value = column.values || column.decimals ? packedColumn(column) : (k) => edges[k][2];
    return column.kind === "text" ? texts(value) : numbers(value, written[column.kind]);
  });
  table.tBodies[0].replaceChildren(); // the first rows, for those without JavaScript
  searchableTable(table, "No edge matches.", {
    data: edges.map((_, k) => [k]),
    columns: [
      numbers((k) => k + 1, written.integer),
      texts((k) => nodes[edges[k][0]][0]),
      texts((k) => nodes[edges[k][1]][0]),
      ...columns,
    ],
    pageLength: data.rows_a_page,
    deferRender: true,
  });
})();
