// The drawing as it is seen, as an SVG element: lines, shapes and names that stay editable.
"use strict";
// `titleOf` says of a node or an edge what a reader sees who rests the pointer on it. Every text is
// set as text, so that markup in a name stays a name.
function networkSvg(cy, titleOf) {
  const SVG = "http://www.w3.org/2000/svg";
  const file = document.implementation.createDocument(SVG, "svg");
  // What XML cannot hold, such as control characters, would make the whole file unreadable.
  const legible = (text) =>
    text.replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "\u{FFFD}");
  const short = (value) => (typeof value === "number" ? Number(value.toFixed(2)) : value);
  function add(parent, name, attributes, text) {
    const made = file.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, short(value));
    if (text !== undefined) made.textContent = legible(text);
    parent.append(made);
    return made;
  }
  const group = (name, element) => {
    const made = add(root, "g", { class: name, opacity: element.numericStyle("opacity") });
    add(made, "title", {}, titleOf(element));
    return made;
  };

  const zoom = cy.zoom();
  const { x1, y1, w, h } = cy.extent();
  const root = file.documentElement;
  const size = { width: cy.width(), height: cy.height(), viewBox: [x1, y1, w, h].map(short).join(" ") };
  for (const [key, value] of Object.entries(size)) root.setAttribute(key, value);
  add(root, "title", {}, document.title);
  add(root, "rect", { x: x1, y: y1, width: w, height: h, fill: pageColour("card") });

  function line(edge) {
    const [from, to] = [edge.sourceEndpoint(), edge.targetEndpoint()];
    const bends = edge.controlPoints() || [];
    const at = ({ x, y }) => `${short(x)} ${short(y)}`;
    const middle = (a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
    const steps = bends.map((bend, k) => {
      return `Q ${at(bend)} ${at(k + 1 < bends.length ? middle(bend, bends[k + 1]) : to)}`;
    });
    const d = `M ${at(from)} ${steps.length ? steps.join(" ") : `L ${at(to)}`}`;
    const [wide, colour] = [edge.numericStyle("width"), edge.style("line-color")];
    const made = group("edge", edge);
    add(made, "path", { d, fill: "none", stroke: colour, "stroke-width": wide });
    if (edge.style("target-arrow-shape") !== "triangle") return;
    const before = bends.length ? bends[bends.length - 1] : from;
    const angle = Math.atan2(to.y - before.y, to.x - before.x);
    const corner = (turn) => {
      const [length, way] = [6 + 2 * wide, angle + Math.PI + turn];
      return `${short(to.x + length * Math.cos(way))},${short(to.y + length * Math.sin(way))}`;
    };
    add(made, "polygon", { points: `${short(to.x)},${short(to.y)} ${corner(0.42)} ${corner(-0.42)}`, fill: colour });
  }

  function shape(node) {
    const { x, y } = node.position();
    const [wide, high] = [node.width(), node.height()];
    const look = {
      fill: node.style("background-color"), stroke: node.style("border-color"),
      "stroke-width": node.numericStyle("border-width"),
    };
    const made = group("node", node);
    const box = { x: x - wide / 2, y: y - high / 2, width: wide, height: high };
    const corners = [[x, box.y], [x + wide / 2, y], [x, y + high / 2], [box.x, y]];
    const kind = node.style("shape");
    if (kind === "diamond") add(made, "polygon", { points: corners.map((at) => at.map(short)).join(" "), ...look });
    else if (kind === "round-rectangle") add(made, "rect", { ...box, rx: wide / 8, ...look });
    else add(made, "ellipse", { cx: x, cy: y, rx: wide / 2, ry: high / 2, ...look });
  }

  function name(node) {
    const { x, y } = node.position();
    const label = {
      x, y: y + (node.scratch("side") === "top" ? -node.outerHeight() / 2 - 5 / zoom : node.outerHeight() / 2 + 14 / zoom),
      "text-anchor": "middle",
      "font-family": "system-ui, Helvetica, Arial, sans-serif",
      "font-size": node.numericStyle("font-size"), "font-weight": node.style("font-weight"),
    };
    const outline = { stroke: pageColour("card"), "stroke-width": 4 / zoom, "stroke-linejoin": "round" };
    // The outline by itself, below: not every program knows paint-order.
    add(root, "text", { ...label, ...outline, fill: "none", class: "outline" }, node.data("label"));
    add(root, "text", { ...label, fill: pageColour("ink"), class: "name" }, node.data("label"));
  }

  // As on the screen: what is marked lies above what is faded, nodes above edges.
  const layers = (elements) => [...elements.filter(".faded"), ...elements.not(".faded")];
  layers(cy.edges()).forEach(line);
  layers(cy.nodes()).forEach(shape);
  cy.nodes(".named").forEach(name);
  return root;
}
