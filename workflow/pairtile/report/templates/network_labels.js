// Names in the drawing: as many as have room at this zoom, those with most edges first.
"use strict";
// Marks the nodes that are named ("named") and sizes their letters so that they are equally large
// at every zoom. Returns a function that does it at once, and does it itself,
// a moment later, whenever the view is moved.
function networkLabels(cy) {
  const LETTERS = 12, MARGIN = 3; // pixels on the screen
  const pen = document.createElement("canvas").getContext("2d");
  const rank = (node) => (node.hasClass("chosen") ? 2 : node.hasClass("near") ? 1 : 0);

  // On the screen: the node itself, and its name above or below it.
  function boxes(node) {
    pen.font = `${node.style("font-weight")} ${LETTERS}px ${node.style("font-family")}`;
    const wide = pen.measureText(node.data("label")).width / 2 + MARGIN;
    const { x, y } = node.renderedPosition();
    const [half, high] = [node.renderedOuterWidth() / 2, node.renderedOuterHeight() / 2];
    const shape = { left: x - half, right: x + half, top: y - high, low: y + high };
    const names = [["top", y - high - 1.4 * LETTERS - MARGIN], ["bottom", y + high]].map(([side, top]) =>
      ({ side, left: x - wide, right: x + wide, top, low: top + 1.4 * LETTERS + MARGIN }));
    return { shape, names };
  }
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.low && b.top < a.low;

  function place() {
    const [width, height] = [cy.width(), cy.height()];
    const waiting = cy.nodes().filter((node) => !node.hasClass("faded")).toArray();
    waiting.sort((a, b) => rank(b) - rank(a) || b.data("size") - a.data("size"));
    // A name hides no other and lies under no named node; over one without a name it can be read.
    const taken = [], named = cy.collection();
    for (const node of waiting) {
      const { shape, names } = boxes(node);
      const free = (name) => !taken.some((other) =>
        overlap(name, other.name) || overlap(name, other.shape) || overlap(shape, other.name));
      const inView = (name) => name.right > 0 && name.left < width && name.low > 0 && name.top < height;
      const name = names.find((place) => inView(place) && free(place));
      if (!name) continue;
      taken.push({ shape, name });
      node.scratch("side", name.side);
      named.merge(node);
    }
    const zoom = cy.zoom();
    cy.batch(() => {
      cy.nodes(".named").difference(named).removeClass("named").removeStyle();
      named.addClass("named").style({
        "font-size": LETTERS / zoom,
        "text-outline-width": 2 / zoom,
        "text-valign": (node) => node.scratch("side"),
        "text-margin-y": (node) => (node.scratch("side") === "top" ? -MARGIN : MARGIN) / zoom,
      });
    });
    cy.container().dataset.named = named.length;
  }

  let soon = 0;
  cy.on("viewport resize", () => {
    clearTimeout(soon);
    soon = setTimeout(place, 80);
  });
  return place;
}
