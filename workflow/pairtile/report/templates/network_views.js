// What can be drawn of the network: all of it, its modules, one of them, a gene's neighbourhood.
"use strict";
// `data` is what io/networks/drawing.py makes. Each view is {nodes, edges, text}: elements for
// cytoscape.js, of the `first` strongest edges only, and what there is to say of them; `only(edge
// number)` says which edges are wanted at all.
function networkViews(data, only) {
  const MAX_DRAWN = 2000; // edges in one view
  const MAX_NEIGHBOURS = 200;
  const [NAME, X, Y, DEGREE, REGULATOR, MODULE, IDENTIFIER] = [0, 1, 2, 3, 4, 5, 6];
  const numbers = new Intl.NumberFormat("en");
  const counted = (n, one, many = `${one}s`) => `${numbers.format(n)} ${n === 1 ? one : many}`;
  const shortened = (name) => ([...name].length > 24 ? `${[...name].slice(0, 23).join("")}…` : name);
  const fullName = (node) =>
    data.nodes[node][NAME] + (data.nodes[node][IDENTIFIER] ? ` (${data.nodes[node][IDENTIFIER]})` : "");
  const moduleOf = (node) => data.nodes[node][MODULE];
  const rank = new Map(data.modules.map(([number], k) => [number, k]));
  const title = (number) =>
    number ? `${data.word[0].toUpperCase()}${data.word.slice(1)} ${number}` : `in no ${data.word}`;

  const nodeColour = {
    role: () => undefined,
    module: (node) => moduleColour(moduleOf(node)),
    gold: () => pageColour("edge"),
  };
  const edgeColour = {
    role: () => undefined,
    module: ([source, target]) =>
      moduleOf(source) === moduleOf(target) ? moduleColour(moduleOf(source)) : undefined,
    gold: ([, , , verdict]) => pageColour(["edge", "untrue", "known"][verdict]),
  };
  const codeColour = (category, code) =>
    ["none", "other", "between two"].includes(category.values[code]) || code >= EDGE_COLOURS.length ? pageColour("edge") : EDGE_COLOURS[code];
  data.categories.forEach((category, k) => {
    nodeColour[k] = (node) => (category.of_nodes ? codeColour(category, category.of_nodes[node]) : pageColour("edge"));
    edgeColour[k] = (edge, number) => codeColour(category, category.codes[number]);
  });
  const nColours = data.colours.length || MODULE_COLOURS.length;
  function moduleColour(number) {
    const k = rank.get(number);
    if (k !== undefined && data.colours.length) return data.colours[(number - 1) % data.colours.length];
    return k === undefined || k >= MODULE_COLOURS.length ? pageColour("edge") : MODULE_COLOURS[k];
  }

  // Elements of some edges (their numbers) and of the nodes at `place`, a Map of node -> {x, y}.
  function drawn(edges, place, colouring) {
    const most = Math.max(...[...place.keys()].map((node) => data.nodes[node][DEGREE]));
    return {
      nodes: [...place].map(([node, position]) => ({
        data: {
          id: `n${node}`, node, label: shortened(data.nodes[node][NAME]),
          regulator: data.nodes[node][REGULATOR], colour: nodeColour[colouring](node),
          size: 12 + 30 * Math.sqrt(data.nodes[node][DEGREE] / most),
        },
        position,
      })),
      edges: edges.map((number) => ({
        data: {
          id: `e${number}`, source: `n${data.edges[number][0]}`, target: `n${data.edges[number][1]}`,
          weight: 1 - number / data.edges.length, colour: edgeColour[colouring](data.edges[number], number),
        },
      })),
    };
  }

  const chosen = (first, wanted) => {
    const found = [];
    for (let number = 0; number < first; number += 1) {
      if (only(number) && wanted(data.edges[number])) found.push(number);
    }
    return found;
  };
  const endsOf = (edges) => new Set(edges.flatMap((number) => data.edges[number].slice(0, 2)));
  const itsPlace = (node) => ({ x: data.nodes[node][X], y: data.nodes[node][Y] });

  function strongest(first, colouring, at, text) {
    const edges = chosen(first, () => true);
    const place = new Map([...endsOf(edges)].map((node) => [node, at(node)]));
    return { ...drawn(edges, place, colouring), text: text(edges.length) };
  }
  const all = (first, colouring) => strongest(first, colouring, itsPlace, (n) =>
    data.whole ? "" : `${counted(n, "edge")}, one ${data.word} beside the other. `);
  const ofTop = (node) => ({ x: data.top[node][0], y: data.top[node][1] });
  const top = (first, colouring) => strongest(Math.min(first, data.top_edges), colouring, ofTop, (n) =>
    `The ${counted(n, "strongest edge", "strongest edges")}. `);

  // A node for each module, a line for all edges between two.
  function modules(first, colouring) {
    const between = new Map();
    const inside = new Map();
    for (let number = 0; number < first; number += 1) {
      if (!only(number)) continue;
      const [low, high] = data.edges[number].slice(0, 2).map(moduleOf).sort((a, b) => a - b);
      if (low === high) inside.set(low, (inside.get(low) || 0) + 1);
      else if (low) between.set(`${low} ${high}`, (between.get(`${low} ${high}`) || 0) + 1);
    }
    const most = Math.max(1, ...between.values());
    const largest = Math.max(...data.modules.map(([, genes]) => genes));
    const nodes = data.modules.map(([number, genes, hub, x, y]) => ({
      data: {
        id: `m${number}`, module: number, size: 14 + 46 * Math.sqrt(genes / largest),
        label: `${number}: ${shortened(data.nodes[hub][NAME])} +${numbers.format(genes - 1)}`,
        edges: inside.get(number) || 0,
        colour: colouring === "module" ? moduleColour(number) : undefined,
      },
      position: { x: 1.6 * x, y: 1.6 * y },
    }));
    const edges = [...between].map(([key, n]) => {
      const [low, high] = key.split(" ");
      return { data: { id: `j${low}-${high}`, source: `m${low}`, target: `m${high}`, joint: 1, n, weight: n / most } };
    });
    const listed = data.modules.length < data.n_modules ? `The ${data.modules.length} largest of ` : "";
    return {
      nodes,
      edges,
      text: `${listed}${counted(data.n_modules, data.word, data.words)}, each named after its hub and how many others are in it. Click one, or choose it above, to open it. `,
    };
  }

  function module(number, first, colouring) {
    const found = chosen(first, ([s, t]) => moduleOf(s) === number && moduleOf(t) === number);
    const edges = found.slice(0, MAX_DRAWN);
    const members = data.nodes.map((_, node) => node).filter((node) => moduleOf(node) === number);
    const ends = endsOf(edges);
    const shown = members.filter((node) => ends.has(node));
    const outside = chosen(first, ([s, t]) => (moduleOf(s) === number) !== (moduleOf(t) === number));
    const less = edges.length < found.length ? ` (the ${numbers.format(edges.length)} strongest are drawn)` : "";
    return {
      ...drawn(edges, new Map(shown.map((node) => [node, itsPlace(node)])), colouring),
      text: `${title(number)}: ${numbers.format(shown.length)} of its ${numbers.format(members.length)} members joined by ${counted(found.length, "edge")}${less}; ${counted(outside.length, "edge")} to others. `,
    };
  }

  function partnersOf(node, first) {
    const own = chosen(first, ([s, t]) => s === node || t === node);
    return [...endsOf(own)].filter((other) => other !== node);
  }
  const neighbours = (node, first) => partnersOf(node, first).map((other) => data.nodes[other][NAME]);

  // A gene in the middle, its neighbours on rings around it, those of one module side by side.
  function neighbourhood(node, first, colouring) {
    const partners = partnersOf(node, first);
    const shown = partners.slice(0, MAX_NEIGHBOURS);
    const kept = new Set([node, ...shown]);
    const around = [...shown].sort((a, b) => moduleOf(a) - moduleOf(b) || a - b);
    const place = new Map([[node, { x: 0, y: 0 }]]);
    for (let ring = 1, placed = 0; placed < around.length; ring += 1) {
      const room = Math.min(around.length - placed, 24 * ring);
      const radius = Math.max(120, (room * 40) / (2 * Math.PI)) + 90 * (ring - 1);
      for (let k = 0; k < room; k += 1) {
        const angle = (2 * Math.PI * (k + 0.5 * (ring % 2))) / room;
        place.set(around[placed + k], { x: radius * Math.cos(angle), y: radius * Math.sin(angle) });
      }
      placed += room;
    }
    const edges = chosen(first, ([s, t]) => kept.has(s) && kept.has(t)).slice(0, MAX_DRAWN);
    const text = shown.length < partners.length ? `The ${MAX_NEIGHBOURS} nearest are drawn. ` : "";
    return { ...drawn(edges, place, colouring), text };
  }

  // What there is to say of one element of a view.
  function titleOf(element) {
    const { node, module, source, target, joint, n } = element.data();
    if (module !== undefined) return `${title(module)}: ${element.data("label")}`;
    if (node !== undefined) return `${fullName(node)}: ${counted(data.nodes[node][DEGREE], "edge")}`;
    if (joint) return `${source.slice(1)} and ${target.slice(1)}: ${counted(n, "edge")}`;
    const [from, to, score] = data.edges[element.id().slice(1)];
    const names = [from, to].map((end) => data.nodes[end][NAME]).join(data.directed ? " → " : " – ");
    return score === null ? names : `${names}: ${score}`;
  }

  const colours = {
    role: () => [],
    module: () => [
      ...data.modules.slice(0, nColours).map(([number]) => [title(number), moduleColour(number)]),
      [data.modules.length > nColours ? `other ${data.words}, and edges between two` : `between ${data.words}`, pageColour("edge")],
    ],
    gold: () => [
      ["edge of the gold standard", pageColour("known")],
      ["not in the gold standard", pageColour("untrue")],
      ["not covered by it", pageColour("edge")],
    ],
  };
  data.categories.forEach((category, k) => {
    const shown = category.values.map((value, code) => [value, codeColour(category, code)]);
    const coloured = shown.filter(([, shade]) => shade !== pageColour("edge"));
    const rest = shown.filter(([, shade]) => shade === pageColour("edge")).map(([value]) => value);
    colours[k] = () => [...coloured, ...(rest.length ? [[rest.join(", "), pageColour("edge")]] : [])];
  });
  return { all, top, modules, module, neighbourhood, neighbours, colours, title, titleOf, fullName, counted };
}
