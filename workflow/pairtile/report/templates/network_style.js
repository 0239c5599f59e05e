// How the drawn network looks: colours come from the page's own style, so light and dark follow it.
"use strict";
function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
// The colours of the largest modules, safe for the colour-blind (Okabe and Ito); grey for the rest.
const MODULE_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"];
// `zoom` is the one that shows all: hubs are named in letters that can be read at it.
function networkStyle(directed, zoom) {
  const colour = pageColour;
  return [
    {
      selector: "node",
      style: {
        label: "data(name)",
        width: "data(size)",
        height: "data(size)",
        "background-color": colour("node"),
        "border-width": 1,
        "border-color": colour("card"),
        color: colour("ink"),
        "font-family": "system-ui, sans-serif",
        "font-size": 12,
        // Named only from zoom 1 on (cytoscape.js compares at the next power of two).
        "min-zoomed-font-size": 13,
        "text-outline-color": colour("card"),
        "text-outline-width": 2,
        "text-valign": "top",
        "text-margin-y": -2,
        "text-max-width": "160px",
        "text-wrap": "ellipsis",
      },
    },
    {
      selector: "node[?regulator]",
      style: { shape: "diamond", "background-color": colour("regulator"), "font-weight": "bold" },
    },
    {
      selector: "node[?module]",
      style: { shape: "round-rectangle", "font-weight": "bold", "text-max-width": "220px" },
    },
    { selector: "node[colour]", style: { "background-color": "data(colour)" } },
    {
      selector: "node[?hub]",
      style: {
        "font-size": Math.min(80, Math.max(14, 13 / zoom)),
        "text-max-width": `${160 / Math.min(1, zoom)}px`,
        "min-zoomed-font-size": 0,
        "z-index": 10,
      },
    },
    {
      selector: "edge",
      style: {
        width: "mapData(weight, 0, 1, 0.7, 3.5)",
        "line-color": colour("edge"),
        "target-arrow-color": colour("edge"),
        "target-arrow-shape": directed ? "triangle" : "none",
        "arrow-scale": 0.8,
        "curve-style": directed ? "bezier" : "haystack",
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
    { selector: ".faded", style: { opacity: 0.12, "text-opacity": 0 } },
    {
      selector: "node.near",
      style: { "min-zoomed-font-size": 0, "text-opacity": 1, "z-index": 20 },
    },
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
