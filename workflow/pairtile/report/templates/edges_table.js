// The table of edges.
"use strict";
searchableTable(document.getElementById("edges-table"), "No edge matches.");
