// First on the page: whatever goes wrong later is counted where a person or a test can see it.
"use strict";
window.addEventListener("error", (event) => {
  const root = document.documentElement;
  root.dataset.errors = `${root.dataset.errors || ""}${event.message}; `;
});
document.addEventListener("securitypolicyviolation", (event) => {
  const root = document.documentElement;
  root.dataset.errors = `${root.dataset.errors || ""}blocked ${event.violatedDirective}; `;
});
