// Tables whose rows stand in the page, to search, sort and save.
"use strict";
for (const table of document.querySelectorAll("table[data-save]")) {
  const made = searchableTable(table, "None matches.");
  // Without the words that open a long list.
  const text = (cell) => {
    const copy = cell.cloneNode(true);
    for (const summary of copy.querySelectorAll("summary")) summary.remove();
    return copy.textContent.trim();
  };
  saveRows(made, table.dataset.save, (row) => [...made.row(row).node().cells].map(text));
}
