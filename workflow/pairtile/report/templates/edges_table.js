// The table of edges: the rows are in the page already, DataTables adds search, sorting and pages.
"use strict";
(() => {
  const table = document.getElementById("edges-table");
  const rows = table.tBodies[0].rows.length;
  new DataTable(table, {
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
      zeroRecords: "No edge matches.",
    },
  });
  table.dataset.enhanced = "true";
})();
