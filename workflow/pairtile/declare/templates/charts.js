// Figures that can be looked into, in place of their pictures; drawn when they come into sight.
"use strict";
(() => {
  const MARGINS = [50, 64]; // pixels beside each panel, for its axis without and with numbers
  const NARROWEST = 140;
  const drawn = new Map();
  let chosen = [];
  let library = null;
  const lines = (value) => value && Object.entries(value).map(([name, text]) => (name ? `${name}: ${text}` : text));

  // Vega is in the page compressed. Its digest is in the content policy, as that of every script.
  async function load() {
    const packed = atob(document.getElementById("library").textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  async function draw(figure) {
    drawn.set(figure, null);
    await (library ??= load());
    const image = figure.querySelector("img");
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const width = figure.clientWidth - 20;
    const columns = Math.max(1, Math.min(spec.columns ?? 1, Math.floor(width / NARROWEST)));
    for (const panel of spec.concat ?? [spec]) {
      const margin = MARGINS[Number(panel.encoding.y.axis.labels)];
      const wide = spec.concat ? width / columns - margin : width;
      panel.height = Math.round((panel.height * wide) / panel.width);
      panel.width = Math.floor(wide);
      for (const { encoding: { color } } of panel.layer) {
        const texts = color?.legend && color.scale.domain.map((text) => text.length);
        if (texts) color.legend.columns = Math.max(1, Math.floor(wide / (6.5 * Math.max(...texts) + 28)));
      }
    }
    if (spec.concat) spec.columns = columns;
    const box = document.createElement("div");
    box.className = "chart";
    box.tabIndex = 0; // it may scroll
    image.before(box);
    const view = new vega.View(vega.parse(vegaLite.compile(spec).spec, null, { ast: true }), {
      expr: vega.expressionInterpreter,
      container: box,
      description: image.alt,
      tooltip: (_handler, event, _item, value) => tell(lines(value), event),
    });
    view.addEventListener("click", (_event, item) => {
      if (item?.datum?.items && typeof choose === "function") choose(item.datum.items);
    });
    view.signal("chosen", chosen).run();
    figure.classList.add("live");
    drawn.set(figure, { view, box, width: figure.clientWidth });
  }

  const sight = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !drawn.has(target)) draw(target);
    }
  });
  for (const data of document.querySelectorAll("figure > script:not(.maps)")) sight.observe(data.parentElement);

  document.addEventListener("pairtile:chosen", ({ detail }) => {
    chosen = detail.items;
    for (const chart of drawn.values()) chart?.view.signal("chosen", chosen).run();
  });
  window.addEventListener("resize", () => {
    for (const [figure, chart] of drawn) {
      if (!chart || figure.clientWidth === chart.width) continue;
      chart.view.finalize();
      chart.box.remove();
      draw(figure);
    }
  });
})();
