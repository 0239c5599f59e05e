// A button beside a table's search that saves the rows that are found, in their order.
"use strict";
// `cells(row number)` gives the texts and numbers of a row; `name` is the file's, without suffix.
function saveRows(made, name, cells) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Save TSV";
  button.addEventListener("click", () => {
    const headings = made.columns().header().toArray().map((cell) => cell.textContent.trim());
    const rows = made.rows({ search: "applied", order: "applied" }).indexes().toArray();
    const lines = [headings, ...rows.map(cells)].map((row) => `${row.join("\t")}\n`);
    saveFile(new Blob(lines, { type: "text/tab-separated-values" }), `${name}.tsv`);
  });
  made.table().container().querySelector(".dt-search").append(button);
}
