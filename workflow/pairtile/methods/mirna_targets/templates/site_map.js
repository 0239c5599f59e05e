// The sites of one transcript along it: a line for each, as high as its score, in the colour of its
// seed class, paler where it is less conserved; below the line, how likely the site is unpaired.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("hits-data").textContent);
  const given = Object.fromEntries(data.columns.map((column) => [column.name, packedColumn(column)]));
  const length = packedColumn(data.columns.find((column) => column.name === "site_begin").length);
  const [mirna, transcript, whole] = ["mirna", "transcript", "transcript_length"].map((name) =>
    packedColumn(data[name]),
  );
  const hits = new Map();
  for (let k = 0; k < data.n; k++) {
    if (!hits.has(transcript(k))) hits.set(transcript(k), []);
    hits.get(transcript(k)).push(k);
  }
  const [input, names, place] = ["input", "names", "drawing"].map((part) =>
    document.getElementById(`site-map-${part}`),
  );
  names.append(
    ...[...hits.keys()].map((name) => Object.assign(document.createElement("option"), { value: name })),
  );

  const [width, base, top, open] = [900, 170, 34, 34]; // `open`: of the bars below the line
  const element = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const facts = (k) =>
    [
      `${mirna(k)} at ${writtenInteger(given.site_begin(k))}–${writtenInteger(given.site_begin(k) + length(k))}`,
      given.seed_class(k) === "none" ? "no seed match" : given.seed_class(k),
      `score ${writtenDecimal(given.score(k))}`,
      ...["energy_kcal_mol", "species_kept", "conservation_rate", "accessibility"]
        .filter((name) => given[name])
        .map((name) => {
          const value = given[name](k);
          return `${data.headings[name]} ${typeof value === "string" ? value : writtenDecimal(value)}`;
        }),
    ].join(", ");

  function draw(name) {
    const rows = [...hits.get(name)].sort((a, b) => given.score(a) - given.score(b)); // best on top
    const letters = whole(rows[0]);
    const scores = rows.map((k) => given.score(k));
    const [low, high] = [Math.min(...scores) - 5, Math.max(...scores)];
    const x = (position) => 20 + ((width - 40) * (position - 1)) / Math.max(letters - 1, 1);
    const y = (score) => base - 20 - ((base - 20 - top) * (score - low)) / (high - low);
    const svg = element("svg", {
      viewBox: `0 0 ${width} ${base + open + 40}`, role: "img",
      "aria-label": `${rows.length} sites on ${name}, ${letters} letters`,
    });
    svg.append(element("line", { x1: 20, x2: width - 20, y1: base, y2: base, class: "site-map-line" }));
    for (let tick = 0; tick <= 5; tick++) {
      const position = Math.round(1 + ((letters - 1) * tick) / 5);
      const where = { x: x(position), y: base + open + 24, class: "site-map-tick" };
      svg.append(element("text", where, writtenInteger(position)));
    }
    const labelled = [];
    for (const k of [...rows].reverse()) {
      const middle = x(given.site_begin(k) + length(k) / 2);
      if (labelled.length < 10 && labelled.every((other) => Math.abs(other - middle) > 90)) {
        labelled.push(middle);
        const side = middle > width - 80 ? "end" : middle < 80 ? "start" : "middle";
        const where = { x: middle, y: y(given.score(k)) - 12, "text-anchor": side, class: "site-map-name" };
        svg.append(element("text", where, mirna(k)));
      }
    }
    for (const k of rows) {
      const middle = x(given.site_begin(k) + length(k) / 2);
      const colour = `rgb(${data.colours[given.seed_class(k)]})`;
      const rate = given.conservation_rate ? given.conservation_rate(k) : 1;
      const site = element("g", { class: "site-map-site" });
      site.append(
        element("title", {}, facts(k)),
        element("line", { x1: middle, x2: middle, y1: base, y2: y(given.score(k)), stroke: colour }),
        element("circle", {
          cx: middle, cy: y(given.score(k)), r: 6, fill: colour, stroke: colour,
          "fill-opacity": 0.1 + 0.9 * (rate ?? 0),
        }),
      );
      if (given.accessibility) {
        const share = given.accessibility(k); // from 1e-6 to 1, logarithmic
        const high = share > 0 ? open * Math.max(0, 1 + Math.log10(share) / 6) : 0;
        site.append(element("rect", { x: middle - 3, y: base + 4, width: 6, height: high, fill: colour }));
      }
      svg.append(site);
    }
    place.replaceChildren(svg);
  }
  input.addEventListener("change", () => {
    if (hits.has(input.value)) draw(input.value);
    else place.textContent = `No hit on ${input.value} is among those of the table.`;
  });
  document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
    const name = items.find((item) => hits.has(item));
    if (name) draw((input.value = name));
  });
  input.value = data.first_map;
  draw(data.first_map);
})();
