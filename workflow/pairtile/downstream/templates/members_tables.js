// The tables of regulators and of modules.
"use strict";
for (const name of ["regulators", "modules"]) {
  const table = document.getElementById(`${name}-table`);
  if (!table) continue;
  const made = searchableTable(table, "None matches.");
  // Without the words that open a long list.
  const text = (cell) => {
    const copy = cell.cloneNode(true);
    for (const summary of copy.querySelectorAll("summary")) summary.remove();
    return copy.textContent.trim();
  };
  saveRows(made, name, (row) => [...made.row(row).node().cells].map(text));
}
