// The network: places were computed beforehand; here it is drawn, moved, searched and saved.
"use strict";
(() => {
  const data = networkData;
  const byId = (name) => document.getElementById(`network-${name}`);
  const [canvas, input, status] = ["canvas", "gene", "status"].map(byId);
  const [view, colour, least, kind] = ["view", "colour", "least", "only"].map(byId);
  // Edges of one kind: the filter's value is "category code", or empty.
  const only = (edge) => {
    if (!kind || !kind.value) return true;
    const [category, code] = kind.value.split(" ").map(Number);
    return data.categories[category].codes[edge] === code;
  };
  const views = networkViews(data, only);
  // Found by name or by identifier.
  const nodeOf = new Map(data.nodes.map(([name], node) => [name, node]));
  data.nodes.forEach((columns, node) => {
    if (columns[6] && !nodeOf.has(columns[6])) nodeOf.set(columns[6], node);
  });
  const idle = status.textContent;
  const pairs = new Set(data.edges.map(([source, target]) => Math.min(source, target) * data.nodes.length + Math.max(source, target)));
  const curved = data.directed || pairs.size < data.edges.length;
  let around = null; // the node whose neighbourhood is the view
  let chosen = null; // the node that is marked

  const option = (value, text) => new Option(text, value);
  const inModules = data.modules.length ? [option("modules", `${data.words} (${data.n_modules})`)] : [];
  const all = option("all", data.whole ? "all edges" : `all ${views.counted(data.edges.length, "edge")}`);
  const top = option("top", `the ${data.top_edges} strongest edges`);
  const list = document.createElement("optgroup");
  list.label = `one ${data.word}`;
  for (const [number, genes, hub] of data.modules) {
    list.append(option(`m${number}`, `${views.title(number)}: ${data.nodes[hub][0]} +${genes - 1}`));
  }
  const near = option("near", "a neighbourhood");
  near.hidden = near.disabled = true;
  view.append(...(data.whole ? [all, ...inModules] : [...inModules, top, all]), near);
  if (data.modules.length) view.append(list);
  view.selectedIndex = 0;
  byId("names").append(...[...nodeOf.keys()].sort().map((name) => option(name, "")));

  const cy = cytoscape({
    container: canvas, elements: [], layout: { name: "preset" }, minZoom: 0.02, maxZoom: 6,
    userZoomingEnabled: false, boxSelectionEnabled: false,
  });
  const nameNodes = networkLabels(cy);

  // Many edges take a second to draw. Such a drawing is held, in a batch of cytoscape.js in which
  // nothing is drawn; while it is moved, so is its picture, and where it rests it is drawn once.
  const picture = canvas.querySelector("canvas").parentElement;
  const many = () => cy.edges().length > MANY_EDGES;
  let resting, held = null; // the viewport of the picture
  function redraw() {
    if (held) cy.endBatch();
    held = null;
    cy.one("render", () => {
      picture.style.transform = "";
      if (held || !many()) return;
      held = { zoom: cy.zoom(), ...cy.pan() };
      cy.startBatch();
    });
  }
  cy.on("viewport", () => {
    if (!held) return;
    clearTimeout(resting);
    resting = setTimeout(redraw, 150);
    const scale = cy.zoom() / held.zoom;
    picture.style.transform = `translate(${cy.pan("x") - scale * held.x}px, ${cy.pan("y") - scale * held.y}px) scale(${scale})`;
  });

  // The slider goes through the edges by strength: all of them at its left, the best at its right.
  const first = () => Math.max(1, Math.round(data.edges.length * (1 - least.value / 1000)));
  function sayLeast() {
    const n = first();
    const score = data.edges[n - 1][2];
    const at = n === data.edges.length || score === null ? "" : ` (${score} and better)`;
    const text = n === data.edges.length ? "all edges" : `best ${n.toLocaleString("en")} edges${at}`;
    byId("least-text").textContent = text;
    least.setAttribute("aria-valuetext", text);
  }

  let fitted = null; // where the view was when all was last brought into it
  function fitAll() {
    if (cy.nodes().empty()) return;
    cy.fit(undefined, 24);
    fitted = { zoom: cy.zoom(), ...cy.pan() };
  }
  function inSight() {
    const { x1, y1, x2, y2 } = cy.extent();
    return cy.nodes().some((n) => x1 <= n.position("x") && n.position("x") <= x2 && y1 <= n.position("y") && n.position("y") <= y2);
  }
  // Draw the view that is chosen; `fit` moves all of it into sight, as is done where none of it is.
  function draw(fit = true) {
    const [n, colouring] = [first(), colour.value];
    let made;
    if (view.value === "near") made = views.neighbourhood(around, n, colouring);
    else if (view.value[0] === "m" && view.value !== "modules") made = views.module(Number(view.value.slice(1)), n, colouring);
    else made = views[view.value](n, colouring);
    cy.stop(true); // a move towards what is drawn no more
    redraw();
    cy.startBatch();
    cy.elements().remove();
    const pannable = made.edges.length > MANY_EDGES; // there, dragging moves the whole
    cy.add(made.nodes.map((node) => ({ group: "nodes", pannable, ...node })));
    cy.add(made.edges.map((edge) => ({ group: "edges", ...edge })));
    cy.endBatch();
    cy.style(networkStyle(data.directed, curved));
    if (fit || !inSight()) fitAll();
    nameNodes();
    legend();
    chosen = null;
    delete canvas.dataset.chosen;
    byId("near").disabled = true;
    status.textContent = made.nodes.length
      ? `${made.text}${idle}`
      : "Nothing is left in this view: choose another kind of edge, or move the slider to the left.";
    Object.assign(canvas.dataset, { view: view.value, nodes: cy.nodes().length, edges: cy.edges().length, first: n });
  }

  function legend() {
    byId("colours").replaceChildren(...views.colours[colour.value]().map(([text, shade]) => {
      const [item, mark] = ["li", "span"].map((name) => document.createElement(name));
      mark.className = "mark";
      mark.style.background = shade;
      item.append(mark, text);
      return item;
    }));
    for (const list of document.querySelectorAll("[data-legend]")) list.hidden = (list.dataset.legend === "modules") !== (view.value === "modules");
  }

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const zoom = (factor) =>
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });

  function showAll() {
    if (view.value === "near") view.selectedIndex = 0;
    input.value = "";
    choose([]);
    draw();
  }

  function emphasise(drawn, close) {
    cy.elements().removeClass("near chosen").addClass("faded");
    close.removeClass("faded").addClass("near");
    drawn.addClass("chosen");
    nameNodes();
    if (held) cy.fit(close, 60);
    else cy.animate({ fit: { eles: close, padding: 60 }, duration: still.matches ? 0 : 250 });
  }
  function mark(node) {
    const drawn = cy.getElementById(`n${node}`);
    emphasise(drawn, drawn.closedNeighborhood());
    const [name, , , degree, , module] = data.nodes[node];
    const names = views.neighbours(node, first()).sort();
    const listed = names.slice(0, 30).join(", ") + (names.length > 30 ? ", …" : "");
    status.textContent =
      `${views.fullName(node)}: ${views.counted(degree, "edge")} in the whole network` +
      `${module ? `, in ${data.word} ${module}` : ""}; ` +
      `here with ${names.length} ${names.length === 1 ? "neighbour" : "neighbours"}: ${listed}.`;
    chosen = node;
    canvas.dataset.chosen = name;
    byId("near").disabled = false;
  }

  function neighbourhood(node) {
    around = node;
    near.hidden = near.disabled = false;
    near.textContent = `neighbourhood of ${data.nodes[node][0]}`;
    view.value = "near";
    draw();
    mark(node);
  }

  function show(node) {
    const drawn = cy.getElementById(`n${node}`);
    if (drawn.nonempty() && view.value !== "near") mark(node);
    else neighbourhood(node);
  }

  function showSome(nodes) {
    const found = () => cy.$(nodes.map((node) => `#n${node}`).join());
    if (found().length < nodes.length) {
      if (nodes.length === 2) neighbourhood(nodes[0]);
      else if (view.value !== "all") {
        view.value = "all";
        draw();
      }
    }
    const drawn = found();
    const edges = nodes.length > 2 && data.directed ? drawn.incomers("edge") : drawn.edgesWith(drawn);
    emphasise(drawn, drawn.union(edges).union(edges.connectedNodes()));
    canvas.dataset.chosen = nodes.map((node) => data.nodes[node][0]).join();
    status.textContent = nodes.length > 2
      ? `${views.counted(edges.length, "edge")} of this view ${data.directed ? "to" : "among"} the ${nodes.length} that are chosen.`
      : edges.map(views.titleOf).join("; ") || "No edge of this view joins the two.";
  }
  // What is chosen anywhere on the page is shown here.
  document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
    const nodes = items.map((name) => nodeOf.get(name)).filter((node) => node !== undefined);
    if (nodes.length > 1) showSome(nodes);
    else if (nodes.length === items.length && nodes.length) show(nodes[0]);
    else if (items.length === 1) search(items[0], true);
    else if (canvas.dataset.chosen) draw(false);
  });

  // Shown as it is typed; chosen where it is a whole name, or with Enter.
  function search(text, sure = false) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return showAll();
    const names = [...nodeOf.keys()];
    const found =
      names.find((name) => name.toLowerCase() === wanted) ??
      names.find((name) => name.toLowerCase().startsWith(wanted)) ??
      names.find((name) => name.toLowerCase().includes(wanted));
    if (found !== undefined && !sure && found.toLowerCase() !== wanted) return show(nodeOf.get(found));
    if (found !== undefined) return choose([data.nodes[nodeOf.get(found)][0]]);
    status.textContent = `“${text.trim()}” is not among the drawn names; look for it in the network files beside this page.`;
  }

  // Filtering keeps the place in view, and the gene that was chosen.
  function again(fit) {
    const before = chosen;
    draw(fit);
    if (before !== null && cy.getElementById(`n${before}`).nonempty()) mark(before);
  }
  view.addEventListener("change", () => draw());
  colour.addEventListener("change", () => again(false));
  if (kind) kind.addEventListener("change", () => again(false));
  // Many edges are drawn anew only where the slider is let go.
  least.addEventListener("input", () => {
    sayLeast();
    if (!many()) again(false);
  });
  least.addEventListener("change", () => many() && again(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => again(false));
  input.addEventListener("input", () => search(input.value));
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(input.value, true);
  });
  cy.on("tap", "node", (event) => {
    const { node, module } = event.target.data();
    if (module === undefined) return choose([data.nodes[node][0]]);
    openModule(module);
  });
  cy.on("tap", "edge", (event) => {
    const { joint, source, target } = event.target.data();
    if (!joint) choose([source, target].map((id) => data.nodes[id.slice(1)][0]));
  });
  cy.on("tap", (event) => {
    if (event.target === cy) choose([]);
  });

  // The wheel scrolls the page until the drawing has been clicked or reached with Tab.
  canvas.addEventListener("click", () => canvas.focus({ preventScroll: true }));
  canvas.addEventListener("focus", () => cy.userZoomingEnabled(true));
  canvas.addEventListener("blur", () => cy.userZoomingEnabled(false));

  const actions = {
    in: () => zoom(1.4),
    out: () => zoom(1 / 1.4),
    fit: showAll,
    near: () => neighbourhood(chosen),
    png: () => saveFile(cy.png({ output: "blob", scale: 2, bg: pageColour("card") }), "network.png"),
    svg: () => {
      const text = new XMLSerializer().serializeToString(networkSvg(cy, views.titleOf));
      saveFile(new Blob([text], { type: "image/svg+xml" }), "network.svg");
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

  // The box changes its size with the window: what was in view stays in view.
  new ResizeObserver(() => {
    const { x1, y1, x2, y2 } = cy.extent();
    const zoomed = cy.zoom();
    const asFitted = fitted && zoomed === fitted.zoom && cy.pan("x") === fitted.x && cy.pan("y") === fitted.y;
    cy.resize();
    if (asFitted) return fitAll();
    cy.pan({ x: cy.width() / 2 - (zoomed * (x1 + x2)) / 2, y: cy.height() / 2 - (zoomed * (y1 + y2)) / 2 });
  }).observe(canvas);
  // On paper, an SVG in the colours of the light scheme: the canvas is as wide as the screen.
  const onPaper = (paper) => {
    document.documentElement.classList.toggle("on-paper", paper);
    redraw();
    cy.style(networkStyle(data.directed, curved));
    document.getElementById("network-print").replaceChildren(...(paper ? [networkSvg(cy, views.titleOf)] : []));
  };
  addEventListener("beforeprint", () => onPaper(true));
  addEventListener("afterprint", () => onPaper(false));
  sayLeast();
  draw();
  addEventListener("load", () => {
    cy.resize();
    fitAll();
    nameNodes();
    followModule();
  });
  // report.html#module=3 shows that module; #gene= and #pair= are choose.js's.
  function openModule(number) {
    if (![...view.options].some(({ value }) => value === `m${number}`)) return;
    view.value = `m${number}`;
    draw();
  }
  function followModule() {
    const asked = location.hash.match(/^#module=(\d+)$/);
    if (!asked) return;
    openModule(asked[1]);
    document.getElementById("network").scrollIntoView();
  }
  addEventListener("hashchange", followModule);
})();
