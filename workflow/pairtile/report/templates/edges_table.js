// The table of edges: those of the drawing, a row made only when it is turned to.
"use strict";
// Its columns are for the side panel, too.
const edgeColumns = (() => {
  const table = document.getElementById("edges-table");
  const data = JSON.parse(document.getElementById("edges-data").textContent);
  const { nodes, edges } = networkData;
  table.tBodies[0].replaceChildren(); // the first rows, for those without JavaScript
  const name = (k, end) => nodes[edges[k][end]][0];
  const ends = [0, 1].map((end) =>
    linkedColumn(textColumn((k) => name(k, end), (k) => nodes[edges[k][end]][6]), (k) => [name(k, end)]));
  const score = (k) => edges[k][2]; // of the drawing, in place of a column of its own
  const [first, ...others] = data.columns.map((column) => tableColumn(column, column.values || column.decimals ? undefined : score));
  const pair = (k) => [name(k, 0), name(k, 1)];
  const all = [numberColumn((k) => k + 1, writtenInteger), ...ends, ...(first ? [linkedColumn(first, pair)] : []), ...others];
  const made = searchableTable(table, "No edge matches.", {
    data: edges.map((_, k) => [k]),
    columns: all,
    pageLength: data.rows_a_page,
    deferRender: true,
  });
  saveRows(made, "edges", (k) => all.map((column) => column.data([k], "file")));
  return all;
})();
