// How the drawn network looks: colours come from the page's own style, so light and dark follow it.
"use strict";
function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
// The colours of the largest modules, safe for the colour-blind (Okabe and Ito); grey for the rest.
const MODULE_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"];
// The colours of what edges are, the first two far apart for everyone; grey for the rest.
const MANY_EDGES = 5000; // a drawing of more is moved as a picture
const EDGE_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
// `curved`: edges that would lie on one another, such as those of both directions, bend apart.
function networkStyle(directed, curved) {
  const colour = pageColour;
  return [
    {
      selector: "node",
      style: {
        width: "data(size)",
        height: "data(size)",
        "background-color": colour("node"),
        "border-width": 1,
        "border-color": colour("card"),
        color: colour("ink"),
        "font-family": "system-ui, sans-serif",
        "text-outline-color": colour("card"),
        "text-valign": "top",
      },
    },
    // Which nodes are named, and in letters of what size, is for network_labels.js to say.
    { selector: "node.named", style: { label: "data(label)", "z-index": 30 } },
    {
      selector: "node[?regulator]",
      style: { shape: "diamond", "background-color": colour("regulator"), "font-weight": "bold" },
    },
    {
      selector: "node[?module]",
      style: { shape: "round-rectangle", "font-weight": "bold" },
    },
    { selector: "node[colour]", style: { "background-color": "data(colour)" } },
    {
      selector: "edge",
      style: {
        width: "mapData(weight, 0, 1, 0.7, 3.5)",
        "line-color": colour("edge"),
        "target-arrow-color": colour("edge"),
        "target-arrow-shape": directed ? "triangle" : "none",
        "arrow-scale": 0.8,
        "curve-style": curved ? "bezier" : "haystack",
        events: "no",
      },
    },
    {
      selector: "edge[colour]",
      style: { "line-color": "data(colour)", "target-arrow-color": "data(colour)" },
    },
    {
      selector: "edge[?joint]",
      style: { "target-arrow-shape": "none", "curve-style": "haystack", opacity: 0.6 },
    },
    { selector: ".faded", style: { opacity: 0.12 } },
    { selector: ".near", style: { "z-index": 20 } },
    {
      selector: "edge.near[!colour]",
      style: { "line-color": colour("accent"), "target-arrow-color": colour("accent") },
    },
    {
      selector: "node.chosen",
      style: { "border-width": 4, "border-color": colour("accent"), "font-weight": "bold" },
    },
  ];
}
