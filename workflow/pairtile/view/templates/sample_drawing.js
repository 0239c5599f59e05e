// The samples behind a row, from the values that the page carries (view/evidence.py). Of a pair: one
// gene against the other, in the colours of modes or annotations, and both along time where there are
// courses. Of a profile: its values against an annotation.
"use strict";
function sampleDrawing(data) {
  const rowOf = new Map(data.items.map((name, row) => [name, row]));
  const [WIDTH, HEIGHT, LEFT, LOW] = [340, 260, 46, 40];
  const short = (number) => String(Number(number.toPrecision(3)));
  const COURSE_COLOURS = ["#0072b2", "#d55e00"];
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  // Of a block that _packed made: the values of a row, NaN where missing.
  function unpacked(block, width) {
    const codes = bytes(block.codes), view = new DataView(codes.buffer);
    const code = width === 2 ? (k) => view.getUint16(2 * k, true) : (k) => codes[k];
    const top = 256 ** width - 2;
    return (row) =>
      Array.from({ length: data.n }, (_, k) => {
        const part = code(row * data.n + k);
        return part > top ? NaN : block.low[row] + (part / top) * (block.high[row] - block.low[row]);
      });
  }
  const values = unpacked(data.values, data.width);
  const lagged = Object.entries(data.sources).map(([lag, block]) => [Number(lag), unpacked(block, data.width)]);
  const members = data.members && bytes(data.members);

  // What samples can be coloured by: heading, a colour for each sample, and entries of a legend.
  function byLabels(heading, labels, of) {
    const shades = labels.map((_, k) => MODULE_COLOURS[k] ?? pageColour("edge"));
    return { heading, colour: (k) => shades[of[k]] ?? pageColour("edge"), legend: labels.map((label, k) => [label, shades[k]]) };
  }
  function byNumbers(group) {
    const { heading, low, high } = group;
    const numbers = unpacked(group, 1)(0);
    const shade = (share) => `color-mix(in oklab, #d55e00 ${100 * share}%, #56b4e9)`;
    const colour = (k) => (isNaN(numbers[k]) ? pageColour("edge") : shade((numbers[k] - low[0]) / (high[0] - low[0] || 1)));
    return { heading, colour, legend: [[writtenDecimal(low[0]), shade(0)], [writtenDecimal(high[0]), shade(1)]] };
  }
  function colourings(edges) {
    const found = data.groups.map((group) => (group.labels ? byLabels(group.heading, group.labels, group.of) : byNumbers(group)));
    const size = Math.ceil(data.n / 8);
    const modes = members ? edges.filter((edge) => edge < data.members_of) : [];
    if (modes.length) {
      const inMode = (edge, k) => (members[edge * size + (k >> 3)] >> (7 - (k & 7))) & 1;
      const of = Array.from({ length: data.n }, (_, k) => modes.findIndex((edge) => inMode(edge, k)));
      found.unshift(byLabels("mode", modes.map((edge) => `row ${edge + 1} of the table`), of));
    }
    return found;
  }

  function element(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  // An empty drawing with an axis for each list of numbers, and the places of numbers on them.
  function axes(x, y, xLabel, yLabel, height, ticks) {
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${yLabel} against ${xLabel}` });
    const scale = (numbers, from, to) => {
      const known = numbers.filter((number) => !isNaN(number));
      const [low, high] = [Math.min(...known), Math.max(...known)];
      const place = (number) => from + ((to - from) * (number - low)) / (high - low || 1);
      return { place, ticks: known.length ? [low, high] : [] };
    };
    const [right, left] = [scale(x, LEFT + 8, WIDTH - 10), scale(y, height - LOW - 8, 10)];
    svg.append(element("path", { d: `M${LEFT} 4V${height - LOW}H${WIDTH - 4}`, class: "axis" }));
    (ticks ?? right.ticks).forEach((tick, k) => svg.append(element("text", { x: right.place(tick), y: height - LOW + 15, "text-anchor": k ? "end" : "start" }, short(tick))));
    left.ticks.forEach((tick) => svg.append(element("text", { x: LEFT - 4, y: left.place(tick) + 4, "text-anchor": "end" }, short(tick))));
    svg.append(element("text", { x: (LEFT + WIDTH) / 2, y: height - 6, "text-anchor": "middle", class: "name" }, xLabel));
    svg.append(element("text", { x: -(height - LOW) / 2, y: 13, transform: "rotate(-90)", "text-anchor": "middle", class: "name" }, yLabel));
    return { svg, x: right.place, y: left.place };
  }
  function scatter(x, y, names, colour, written = (k) => writtenDecimal(x[k]), ticks = undefined) {
    const { svg, ...at } = axes(x, y, names[0], names[1], HEIGHT, ticks);
    x.forEach((value, k) => {
      if (isNaN(value) || isNaN(y[k])) return;
      const point = element("circle", { cx: at.x(value).toFixed(1), cy: at.y(y[k]).toFixed(1), r: 3, fill: colour(k) });
      const said = [...(data.names ? [data.names[k]] : []), `${names[0]} ${written(k)}`, `${names[1]} ${writtenDecimal(y[k])}`];
      point.append(element("title", {}, said.join(", ")));
      svg.append(point);
    });
    svg.dataset.points = svg.querySelectorAll("circle").length;
    return svg;
  }
  // Both along time, each from its lowest to its highest value, a gap between two courses.
  function courses(curves, names) {
    const height = 150;
    const { svg, x } = axes(curves[0].map((_, k) => k + 1), [], "in the order of time, series after series", "lowest to highest", height);
    curves.forEach((curve, line) => {
      const known = curve.filter((value) => !isNaN(value));
      const [low, high] = [Math.min(...known), Math.max(...known)];
      const y = (value) => height - LOW - 8 - ((height - LOW - 18) * (value - low)) / (high - low || 1);
      const joined = (k) => k && data.series[k] === data.series[k - 1] && !isNaN(curve[k - 1]);
      const steps = curve.map((value, k) => (isNaN(value) ? "" : `${joined(k) ? "L" : "M"}${x(k + 1).toFixed(1)} ${y(value).toFixed(1)}`));
      const drawn = element("path", { d: steps.join(""), class: "course", stroke: COURSE_COLOURS[line] });
      drawn.append(element("title", {}, names[line]));
      svg.append(drawn);
    });
    return svg;
  }

  function list(entries) {
    const made = document.createElement("ul");
    made.className = "legend";
    made.append(...entries.map(([text, shade]) => {
      const [item, mark] = ["li", "span"].map((name) => document.createElement(name));
      mark.className = "mark";
      mark.style.background = shade;
      item.append(mark, text);
      return item;
    }));
    return made;
  }
  function figureOf(text, ...parts) {
    const [figure, caption] = ["figure", "figcaption"].map((name) => document.createElement(name));
    const thinned = data.n < data.total ? ` ${writtenCount.format(data.n)} of ${writtenCount.format(data.total)} samples, evenly spaced.` : "";
    caption.append(text + thinned);
    figure.append(...parts, caption);
    return figure;
  }

  // The drawings of a pair of names; `edges`: its rows of the table, for their lag and their modes;
  // `cells`: the texts of one such row: an annotation that they begin with colours the samples first.
  // Null where the page does not carry its values.
  function pair(names, edges, cells) {
    const rows = names.map((name) => rowOf.get(name));
    if (rows.includes(undefined)) return null;
    const lag = data.lags?.[edges[0]];
    const [steps, sources] = lagged.find(([each]) => each === lag) ?? (lag === 0 || !lagged.length ? [0, values] : lagged[0]);
    const [x, y] = [sources(rows[0]), values(rows[1])];
    const [drawing, choice, label] = ["div", "select", "label"].map((name) => document.createElement(name));
    const ways = colourings(edges);
    choice.append(...ways.map(({ heading }, k) => new Option(heading, k)));
    choice.selectedIndex = Math.max(0, ways.findIndex(({ heading }) => cells.some((cell) => `${cell} `.startsWith(`${heading} `))));
    const draw = () => {
      const way = ways[choice.value] ?? { colour: () => pageColour("node"), legend: [] };
      drawing.replaceChildren(scatter(x, y, names, way.colour), list(way.legend));
    };
    choice.addEventListener("change", draw);
    draw();
    label.append("Colour by ", choice);
    const inTime = data.series ? [courses(names.map((name) => values(rowOf.get(name))), names), list(names.map((name, k) => [name, COURSE_COLOURS[k]]))] : [];
    const earlier = steps ? ` ${names[0]}: ${steps} ${steps === 1 ? "step" : "steps"} earlier.` : "";
    return figureOf(`${data.label}.${earlier}`, drawing, ...(ways.length ? [label] : []), ...inTime);
  }
  // A profile against an annotation: labels beside each other, or numbers along the axis. Null where
  // the page does not carry both.
  function profile(name, annotation) {
    const [row, group] = [rowOf.get(name), data.groups.find(({ heading }) => heading === annotation)];
    if (row === undefined || !group) return null;
    const { labels, of } = group;
    if (!labels) return figureOf("", scatter(unpacked(group, 1)(0), values(row), [annotation, name], () => pageColour("node")));
    const numeric = labels.every((label) => isFinite(label));
    const places = numeric ? labels.map(Number) : labels.map((_, code) => code);
    const sorted = places.toSorted((one, other) => one - other);
    const gap = Math.min(...sorted.slice(1).map((place, k) => place - sorted[k]));
    // Points of one label stand beside each other.
    const x = of.map((code, k) => (code < 0 ? NaN : places[code] + gap * (((k * 7) % 11) / 20 - 0.25)));
    const { colour, legend } = numeric ? { colour: () => pageColour("node"), legend: [] } : byLabels(annotation, labels, of);
    const ticks = numeric ? [sorted[0], sorted.at(-1)] : [];
    return figureOf("", scatter(x, values(row), [annotation, name], colour, (k) => labels[of[k]], ticks), list(legend));
  }
  return { pair, profile };
}
