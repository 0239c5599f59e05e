// The network: places were computed beforehand; here it is drawn, moved, searched and saved.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("network-data").textContent);
  const canvas = document.getElementById("network-canvas");
  const input = document.getElementById("network-gene");
  const status = document.getElementById("network-status");
  const idle = status.textContent;
  const byDegree = [...data.nodes].sort((a, b) => b[3] - a[3]);
  const hubDegree = Math.max(3, byDegree[Math.min(9, byDegree.length - 1)][3]);
  const largest = byDegree[0][3];

  const elements = [
    ...data.nodes.map(([name, x, y, degree, regulator], i) => ({
      data: {
        id: `n${i}`, name, degree, regulator, hub: degree >= hubDegree,
        size: 12 + 30 * Math.sqrt(degree / largest),
      },
      position: { x, y },
    })),
    ...data.edges.map(([source, target, weight]) => ({
      data: { source: `n${source}`, target: `n${target}`, weight },
    })),
  ];
  const cy = cytoscape({
    container: canvas,
    elements,
    layout: { name: "preset", fit: true, padding: 24 },
    minZoom: 0.02,
    maxZoom: 6,
    userZoomingEnabled: false,
    boxSelectionEnabled: false,
  });

  const fitZoom = cy.zoom();
  const paint = () => cy.style(networkStyle(data.directed, fitZoom));
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  // The wheel scrolls the page until the drawing has been clicked or reached with Tab.
  canvas.addEventListener("pointerdown", () => canvas.focus({ preventScroll: true }));
  canvas.addEventListener("focus", () => cy.userZoomingEnabled(true));
  canvas.addEventListener("blur", () => cy.userZoomingEnabled(false));

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const move = (to) => (still.matches ? cy.animate({ ...to, duration: 0 }) : cy.animate({ ...to, duration: 250 }));
  const zoom = (factor) =>
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });

  function showAll() {
    cy.elements().removeClass("faded near chosen");
    move({ fit: { eles: cy.elements(), padding: 24 } });
    status.textContent = idle;
    delete canvas.dataset.chosen;
  }

  function show(node) {
    const near = node.closedNeighborhood();
    cy.elements().removeClass("near chosen").addClass("faded");
    near.removeClass("faded").addClass("near");
    node.addClass("chosen");
    move({ fit: { eles: near, padding: 60 } });
    const names = near.nodes().difference(node).map((other) => other.data("name")).sort();
    const listed = names.slice(0, 30).join(", ") + (names.length > 30 ? ", …" : "");
    status.textContent =
      `${node.data("name")}: ${node.data("degree")} edges in the whole network; ` +
      `drawn here with ${names.length} ${names.length === 1 ? "neighbour" : "neighbours"}: ${listed}.`;
    canvas.dataset.chosen = node.data("name");
  }

  function search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return showAll();
    const nodes = cy.nodes();
    const name = (node) => node.data("name").toLowerCase();
    const found =
      nodes.filter((node) => name(node) === wanted)[0] ||
      nodes.filter((node) => name(node).startsWith(wanted))[0] ||
      nodes.filter((node) => name(node).includes(wanted))[0];
    if (found) return show(found);
    status.textContent = `“${text.trim()}” is not among the drawn names; look for it in the table of edges.`;
  }

  const names = data.nodes.map((node) => node[0]).sort();
  document.getElementById("network-names").append(...names.map((name) => {
    const option = document.createElement("option");
    option.value = name;
    return option;
  }));
  input.addEventListener("input", () => search(input.value));
  document.getElementById("network-search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(input.value);
  });

  cy.on("tap", "node", (event) => show(event.target));
  cy.on("tap", (event) => {
    if (event.target === cy) showAll();
  });

  const actions = {
    in: () => zoom(1.4),
    out: () => zoom(1 / 1.4),
    fit: () => {
      input.value = "";
      showAll();
    },
    save: () => {
      const link = document.createElement("a");
      const background = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
      link.href = URL.createObjectURL(cy.png({ output: "blob", scale: 2, bg: background }));
      link.download = "network.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    },
  };
  document.querySelectorAll("#network-search [data-do]").forEach((button) => {
    button.addEventListener("click", actions[button.dataset.do]);
  });
  const keys = {
    "+": actions.in, "=": actions.in, "-": actions.out, Escape: actions.fit,
    ArrowLeft: () => cy.panBy({ x: 60, y: 0 }), ArrowRight: () => cy.panBy({ x: -60, y: 0 }),
    ArrowUp: () => cy.panBy({ x: 0, y: 60 }), ArrowDown: () => cy.panBy({ x: 0, y: -60 }),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });

  // The box changes its size with the window: keep what was in view in view.
  new ResizeObserver(() => cy.resize()).observe(canvas);
  addEventListener("load", () => {
    cy.resize();
    // report.html#gene=NAME opens with that gene in view.
    const asked = location.hash.match(/^#gene=(.+)$/);
    if (!asked) return cy.fit(undefined, 24);
    input.value = decodeURIComponent(asked[1]);
    search(input.value);
    document.getElementById("network").scrollIntoView();
  });
  canvas.dataset.nodes = cy.nodes().length;
  canvas.dataset.edges = cy.edges().length;
})();
