// The table of residues and of what the network says of each.
"use strict";
searchableTable(document.getElementById("residues-table"), "None matches.");
