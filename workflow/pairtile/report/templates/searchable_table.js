// A table whose rows are in the page already: DataTables adds search, sorting and pages.
"use strict";
function searchableTable(table, zeroRecords, more = {}) {
  const rows = table.tBodies[0].rows.length;
  const made = new DataTable(table, {
    autoWidth: false,
    pageLength: 25,
    lengthMenu: [10, 25, 100, 1000],
    paging: rows > 10,
    order: [],
    layout: {
      topStart: rows > 10 ? "pageLength" : null,
      topEnd: { search: { placeholder: "name or value" } },
    },
    language: {
      search: "Search",
      lengthMenu: "_MENU_ rows a page",
      info: "_START_ to _END_ of _TOTAL_ rows",
      infoEmpty: "no rows",
      infoFiltered: "(of _MAX_)",
      zeroRecords,
    },
    ...more,
  });
  table.dataset.enhanced = "true";
  return made;
}
