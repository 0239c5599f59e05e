// The structure as a drawing that turns (3Dmol.js), its residues coloured by what is chosen.
"use strict";
{
  const byId = (name) => document.getElementById(`structure-${name}`);
  const data = JSON.parse(byId("data").textContent);
  const [canvas, status, legend, chosen] = ["canvas", "status", "legend", "by"].map(byId);
  const root = document.documentElement;
  const residueOf = (atom) => data.residue_of_atom[atom.serial - 1];
  const colouring = () => data.colourings[chosen.value];
  let viewer = null;
  let looked = []; // names of what is chosen on the page

  // Between the colours of the scale, by the share of the way from low to high.
  function onScale(share) {
    const at = Math.min(Math.max(share, 0), 1) * (data.scale.length - 1);
    const [from, to] = [Math.floor(at), Math.ceil(at)].map((k) =>
      [1, 3, 5].map((i) => parseInt(data.scale[k].slice(i, i + 2), 16)));
    const mixed = from.map((c, i) => Math.round(c + (to[i] - c) * (at % 1)));
    return `#${mixed.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
  }
  function colourOf(residue) {
    const by = colouring();
    if (!by) return data.none;
    if (by.groups) return by.colours[by.groups[residue]] ?? data.none;
    const value = by.values[residue];
    if (value === null) return data.none;
    return onScale(by.high > by.low ? (value - by.low) / (by.high - by.low) : 0.5);
  }
  function told(atom) {
    const by = colouring();
    const residue = residueOf(atom);
    const name = data.residues[residue];
    if (!by) return name;
    const value = by.groups ? by.names[by.groups[residue]] ?? "none" : by.values[residue] ?? "no value";
    return `${name}: ${by.title} ${value}`;
  }

  function paint() {
    const colorfunc = (atom) => colourOf(residueOf(atom));
    const sphere = { colorfunc, scale: 0.3 };
    const styles = {
      ribbon: { cartoon: { colorfunc, thickness: 0.5 } },
      trace: { cartoon: { colorfunc, style: "trace" }, sphere },
      atoms: { stick: { colorfunc, radius: 0.15 }, sphere },
    };
    for (const [name, style] of Object.entries(styles)) {
      viewer.setStyle({ predicate: (atom) => data.styles[residueOf(atom)] === name }, style);
    }
    const marked = { predicate: (atom) => looked.includes(data.residues[residueOf(atom)]) };
    viewer.addStyle(marked, { sphere: { colorfunc, scale: 0.6 } });
    viewer.render();
    canvas.dataset.colouring = colouring()?.title ?? "";
    canvas.dataset.chosen = looked.join();
  }
  function explain() {
    const by = colouring();
    const mark = (style, text) => {
      const entry = document.createElement("li");
      const square = document.createElement("span");
      square.className = "mark";
      Object.assign(square.style, style);
      entry.append(square, text);
      return entry;
    };
    const none = mark({ background: data.none }, by?.groups ? "none" : "no value");
    if (!by) return legend.replaceChildren();
    if (by.groups) {
      return legend.replaceChildren(...by.names.map((name, k) => mark({ background: by.colours[k] }, name)), none);
    }
    const background = `linear-gradient(90deg, ${data.scale.join(", ")})`;
    const scale = mark({ background, width: "9rem" }, `${by.title}: ${by.ends[0]} to ${by.ends[1]}`);
    scale.append(" (2 % of the residues lie below, 2 % above)");
    legend.replaceChildren(scale, ...(by.values.includes(null) ? [none] : []));
  }

  const background = () => getComputedStyle(root).getPropertyValue("--card").trim();
  function start() {
    if (viewer) return;
    if (!document.createElement("canvas").getContext("webgl2")) {
      canvas.hidden = true;
      status.textContent = "This browser draws no three-dimensional graphics (WebGL): open structure.pdb in another program.";
      return;
    }
    viewer = $3Dmol.createViewer(canvas, { backgroundColor: background(), antialias: true });
    viewer.addModel(data.pdb, "pdb");
    viewer.setHoverable({}, true, (atom) => { status.textContent = told(atom); }, () => {});
    viewer.setClickable({}, true, (atom) => choose([data.residues[residueOf(atom)]]));
    paint();
    showAll();
    viewer.render();
    canvas.dataset.drawn = viewer.selectedAtoms({}).length;
  }

  document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
    looked = items;
    if (viewer) paint();
  });
  chosen.addEventListener("change", () => {
    explain();
    if (viewer) paint();
  });
  // The wheel scrolls the page until the drawing has been clicked or reached with Tab.
  canvas.addEventListener("pointerdown", () => canvas.focus({ preventScroll: true }));
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas) event.stopPropagation();
  }, { capture: true });
  // The whole molecule in view: zoomTo looks at the height alone.
  function showAll() {
    viewer?.zoomTo();
    viewer?.zoom(Math.min(1, canvas.clientWidth / canvas.clientHeight));
  }
  const keys = {
    "+": () => viewer.zoom(1.2), "=": () => viewer.zoom(1.2), "-": () => viewer.zoom(1 / 1.2), Escape: showAll,
    ArrowLeft: () => viewer.rotate(-10, "y"), ArrowRight: () => viewer.rotate(10, "y"),
    ArrowUp: () => viewer.rotate(-10, "x"), ArrowDown: () => viewer.rotate(10, "x"),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!viewer || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  byId("all").addEventListener("click", showAll);
  byId("png").addEventListener("click", () => viewer?.getCanvas().toBlob((png) => saveFile(png, "structure.png")));
  new ResizeObserver(() => {
    if (!viewer || !canvas.clientWidth) return; // on paper it is hidden
    viewer.resize();
    showAll();
  }).observe(canvas);

  // On paper, a picture on white: the canvas is as wide as the screen.
  addEventListener("beforeprint", () => {
    start();
    if (!viewer) return;
    viewer.setBackgroundColor("white");
    viewer.render();
    const picture = new Image();
    picture.src = viewer.pngURI();
    picture.alt = canvas.getAttribute("aria-label");
    byId("print").replaceChildren(picture);
  });
  addEventListener("afterprint", () => {
    viewer?.setBackgroundColor(background());
    byId("print").replaceChildren();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => viewer?.setBackgroundColor(background()));

  explain();
  // Not before it comes into sight: pages open sooner, and a browser allows few such drawings.
  const sight = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    sight.disconnect();
    start();
  }, { rootMargin: "100px" });
  sight.observe(canvas);
}
