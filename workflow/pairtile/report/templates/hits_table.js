// The table of hits: each row opens its alignment.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("hits-data").textContent);
  const element = document.getElementById("hits-table");
  for (const [k, row] of [...element.tBodies[0].rows].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "show-alignment";
    button.dataset.hit = k;
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", `Alignment of hit ${k + 1}`);
    button.textContent = "show";
    row.cells[3].append(button);
  }
  const table = searchableTable(element, "No hit matches.", {
    columnDefs: [{ targets: 3, orderable: false, searchable: false }],
  });

  const piece = (text, name) => {
    const span = document.createElement("span");
    if (name) span.className = name;
    span.textContent = text;
    return span;
  };
  function alignment([query, match, reference, begin, end]) {
    const lines = document.createElement("pre");
    lines.tabIndex = 0;
    for (const [before, text, after] of [
      ["miRNA      3' ", query, " 5'\n"], ["              ", match, "   \n"], ["transcript 5' ", reference, " 3'"],
    ]) {
      lines.append(
        piece(before, "strand"), text.slice(0, begin), piece(text.slice(begin, end), "seed"),
        text.slice(end), piece(after, "strand"),
      );
    }
    return lines;
  }

  function turn(button) {
    const row = table.row(button.closest("tr"));
    const open = !row.child.isShown();
    if (open) row.child(alignment(data[button.dataset.hit]), "alignment-row").show();
    else row.child.hide();
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "hide" : "show";
  }
  element.tBodies[0].addEventListener("click", (event) => {
    const button = event.target.closest(".show-alignment");
    if (button) turn(button);
  });

  // report.html#hit=NUMBER opens with the alignment of that row in view.
  const asked = location.hash.match(/^#hit=(\d+)$/);
  const wanted = asked && table.row(asked[1] - 1);
  if (wanted && wanted.any()) {
    table.page(Math.floor((asked[1] - 1) / table.page.len())).draw(false);
    turn(wanted.node().querySelector(".show-alignment"));
    wanted.node().scrollIntoView({ block: "center" });
  }
})();
