// The table of edges: those of the drawing, a row made only when it is turned to.
"use strict";
(() => {
  const table = document.getElementById("edges-table");
  const data = JSON.parse(document.getElementById("edges-data").textContent);
  const { nodes, edges } = networkData;
  // Without values of its own: the score that the drawing goes by.
  const columns = data.columns.map((column) =>
    column.values || column.decimals ? tableColumn(column) : tableColumn(column, (k) => edges[k][2]),
  );
  table.tBodies[0].replaceChildren(); // the first rows, for those without JavaScript
  const all = [
    numberColumn((k) => k + 1, writtenInteger),
    textColumn((k) => nodes[edges[k][0]][0], (k) => nodes[edges[k][0]][6]),
    textColumn((k) => nodes[edges[k][1]][0], (k) => nodes[edges[k][1]][6]),
    ...columns,
  ];
  const made = searchableTable(table, "No edge matches.", {
    data: edges.map((_, k) => [k]),
    columns: all,
    pageLength: data.rows_a_page,
    deferRender: true,
  });
  saveRows(made, "edges", (k) => all.map((column) => column.data([k], "file")));
})();
