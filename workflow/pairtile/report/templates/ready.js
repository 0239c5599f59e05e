// Last on the page: every script before has run.
"use strict";
document.documentElement.dataset.ready = "true";
