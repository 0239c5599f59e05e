// The network, read once for the drawing and for the table of its edges.
"use strict";
const networkData = JSON.parse(document.getElementById("network-data").textContent);
