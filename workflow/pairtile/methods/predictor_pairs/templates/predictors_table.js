// The table of predictor sets, and which of its rows are shown.
"use strict";
(() => {
  const element = document.getElementById("predictors-table");
  const headings = [...element.tHead.rows[0].cells].map((cell) => cell.textContent);
  const table = searchableTable(element, "No set matches.");
  const filters = { rank: /^1$/, "equal sets": /^alone$/, "in network": /^yes$/ };
  const shown = { best: ["rank"], alone: ["rank", "equal sets"], kept: ["in network"] };

  const select = document.getElementById("predictors-show");
  const show = () => {
    const wanted = shown[select.value] || [];
    for (const [heading, pattern] of Object.entries(filters)) {
      const fixed = wanted.includes(heading) ? pattern : null;
      table.column(headings.indexOf(heading)).search.fixed("shown", fixed);
    }
    table.draw();
  };
  select.addEventListener("change", show);
  show();
  document.getElementById("predictors-filter").hidden = false;

  // In the side panel, the levels of a chosen target by those of its predictors.
  const cards = [...document.querySelectorAll("#levels article")];
  document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
    const shown = cards.filter((card) => items.includes(card.dataset.target));
    document.getElementById("evidence-more")?.replaceChildren(...shown.map((card) => card.cloneNode(true)));
  });
})();
