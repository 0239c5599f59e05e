// A table, its rows in the page already or given as `data`: DataTables adds search, sorting, pages.
"use strict";
function searchableTable(table, zeroRecords, more = {}) {
  const rows = more.data?.length ?? table.tBodies[0].rows.length;
  for (const heading of table.tHead.rows[0].cells) {
    heading.classList.toggle("short", heading.textContent.length < 10); // not worth two lines
  }
  const made = new DataTable(table, {
    autoWidth: false,
    pageLength: 25,
    lengthMenu: [10, 25, 50, 100, 1000],
    paging: rows > 10,
    order: [],
    layout: {
      topStart: rows > 10 ? "pageLength" : null,
      topEnd: { search: { placeholder: "name or value" } },
    },
    language: {
      search: "Search",
      lengthMenu: "_MENU_ rows a page",
      info: "rows _START_ to _END_ of _TOTAL_",
      infoEmpty: "no rows",
      infoFiltered: "(found in _MAX_)",
      zeroRecords,
    },
    ...more,
  });
  // A heading is a button: the space bar works it, too, where DataTables knows Enter alone.
  table.tHead.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target.getAttribute("role") !== "button") return;
    event.preventDefault();
    event.target.click();
  });
  made.table().container().querySelector("nav")
    ?.setAttribute("aria-label", `pages of ${table.id.replaceAll("-", " ")}`);
  table.dataset.enhanced = "true";
  return made;
}
