// Last on the page: every script before has run.
"use strict";
for (const box of document.querySelectorAll(".table-scroll")) scrolling.observe(box);
document.documentElement.dataset.ready = "true";
