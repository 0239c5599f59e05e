// Columns of a searchable table whose rows are made only when they are turned to: row [k] of its
// data stands for row k of the packed columns.
"use strict";
// DataTables writes cells as markup and reads it when it searches: every text is escaped for it.
const escapedText = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
// `more`, where it gives something, is shown by the pointer and found by the search, too.
const textColumn = (value, more = () => undefined) => ({
  type: "string",
  data: ([k], kind) => {
    if (kind !== "display" && kind !== "filter") return value(k);
    const [text, hint] = [value(k), more(k)].map((part) => part && escapedText(part));
    if (!hint) return text;
    return kind === "filter" ? `${text} ${hint}` : `<span title="${hint}">${text}</span>`;
  },
});
// Sorted by value(k), null below all that have a value; written as write(value(k)) says.
const numberColumn = (value, write) => ({
  type: "num",
  data: ([k], kind) => {
    if (kind === "display" || kind === "filter") return write(value(k), k);
    return value(k) ?? (kind === "file" ? "" : -1e308);
  },
});
// A column whose cells choose what `items` says of their row.
const linkedColumn = (column, items) => ({
  ...column,
  data: ([k], kind) => {
    const text = column.data([k], kind);
    return kind === "display" ? `<a href="${chosenAddress(items(k))}">${text}</a>` : text;
  },
});
// A column that pack_column made; `value` in place of its own where another has its numbers.
function tableColumn(column, value = packedColumn(column)) {
  if (column.kind === "text") return textColumn(value);
  return numberColumn(value, column.kind === "integer" ? writtenInteger : writtenDecimal);
}
const writtenInteger = (value) => writtenCount.format(value);
