// The page of a network alone: search, slider, neighbours.
"use strict";
(function () {
  // Names come from the input table: they are only ever set as text, never as markup.
  const byId = (id) => document.getElementById(id);
  const network = JSON.parse(byId("elements").textContent);
  const lowest = network.score_min, highest = network.score_max;
  const span = highest > lowest ? highest - lowest : 1;
  const short = (x) => Number.isInteger(x) ? String(x) : Number(x.toPrecision(4)).toString();
  const thickness = (edge) => 0.5 + 3 * (edge.data("score") - lowest) / span;
  const cy = cytoscape({
    container: byId("canvas"),
    elements: { nodes: network.nodes, edges: network.edges },
    layout: { name: "preset" },
    minZoom: 0.02, maxZoom: 8,
    style: [
      { selector: "node", style: {
        "label": "data(name)", "font-size": 11, "min-zoomed-font-size": 7, "color": "#1f2933",
        "text-outline-color": "#fff", "text-outline-width": 2, "text-valign": "top",
        "background-color": (n) => n.data("is_regulator") ? "#D55E00" : "#0072B2",
        "shape": (n) => n.data("is_regulator") ? "diamond" : "ellipse",
        "width": (n) => 10 + 3 * Math.sqrt(n.data("degree")),
        "height": (n) => 10 + 3 * Math.sqrt(n.data("degree")) } },
      { selector: "edge", style: {
        "width": thickness, "opacity": 0.7, "line-color": "#9aa5b1",
        "curve-style": network.directed || network.parallel ? "bezier" : "haystack",
        "target-arrow-shape": network.directed ? "triangle" : "none",
        "target-arrow-color": "#9aa5b1", "arrow-scale": 0.7 } },
      { selector: ".faded", style: { "opacity": 0.12 } },
      { selector: ".weak", style: { "display": "none" } },
      { selector: ".chosen", style: { "border-width": 3, "border-color": "#1f2933", "min-zoomed-font-size": 0 } }
    ]
  });

  const byName = new Map(cy.nodes().map((node) => [node.data("name"), node]));
  const sorted = [...byName.keys()].sort();
  for (const name of sorted) byId("genes").append(new Option(name, name));

  function row(table, cells) {
    const line = table.insertRow();
    for (const cell of cells) {
      const field = line.insertCell();
      field.textContent = typeof cell === "number" ? short(cell) : String(cell);
      if (typeof cell === "number") field.className = "number";
    }
  }

  function choose(node) {
    const around = node.closedNeighborhood().not(".weak");
    cy.elements().removeClass("chosen").addClass("faded");
    around.removeClass("faded");
    node.addClass("chosen");
    byId("chosen").textContent = node.data("name");
    byId("facts").replaceChildren();
    byId("neighbours").replaceChildren();
    for (const [key, value] of Object.entries(node.data())) {
      if (key !== "id" && key !== "name") row(byId("facts"), [key, value]);
    }
    row(byId("neighbours"), ["linked to", network.score]);
    const edges = node.connectedEdges().not(".weak").sort((a, b) => b.data("score") - a.data("score"));
    edges.forEach((edge) => {
      const outward = edge.source().same(node);
      const other = outward ? edge.target() : edge.source();
      const arrow = network.directed ? (outward ? "\u2192 " : "\u2190 ") : "";
      row(byId("neighbours"), [arrow + other.data("name"), edge.data("score")]);
    });
    return around;
  }

  function clear() {
    cy.elements().removeClass("faded chosen");
    byId("chosen").textContent = "Click a gene";
    byId("facts").replaceChildren();
    byId("neighbours").replaceChildren();
  }

  function filter() {
    const least = lowest + span * byId("slider").value / 1000;
    cy.batch(() => {
      cy.elements().removeClass("weak");
      const weak = cy.edges().filter((edge) => edge.data("score") < least - 1e-12 * Math.abs(least));
      weak.addClass("weak");
      cy.nodes().filter((node) => node.connectedEdges().not(".weak").empty()).addClass("weak");
    });
    clear();
    byId("threshold").textContent = highest === null ? "" : short(least);
    byId("status").textContent = cy.edges().not(".weak").length + " edges drawn";
  }

  function search() {
    const wanted = byId("search").value.trim();
    if (!wanted) { clear(); return; }
    const lower = wanted.toLowerCase();
    const name = byName.has(wanted) ? wanted
      : sorted.find((other) => other.toLowerCase().startsWith(lower));
    byId("status").textContent = "";
    if (name === undefined) {
      byId("status").textContent = "no gene of that name is drawn";
    } else if (byName.get(name).hasClass("weak")) {
      byId("status").textContent = "its edges are below the slider's score";
    } else {
      cy.fit(choose(byName.get(name)), 60);
    }
  }

  cy.on("tap", "node", (event) => choose(event.target));
  cy.on("tap", (event) => { if (event.target === cy) clear(); });
  byId("slider").addEventListener("input", filter);
  byId("search").addEventListener("change", search);
  byId("fit").addEventListener("click", () => { byId("search").value = ""; filter(); cy.fit(cy.elements().not(".weak"), 30); });
  window.pairtileNetwork = cy;
  filter();
  cy.fit(undefined, 30);
  document.body.dataset.drawnEdges = String(cy.edges().length);
})();
