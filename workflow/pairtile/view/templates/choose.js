// What is chosen on the page: nothing, an item (gene, miRNA, residue), a pair or a list of them. Drawings,
// tables, figures and the search call `choose(names)`, or have links to the address, and follow the
// document's event "pairtile:chosen". The address says it, so that it can be sent.
"use strict";
function chosenAddress(items) {
  return `#${["gene", "pair"][items.length - 1] ?? "genes"}=${items.map(encodeURIComponent).join(",")}`;
}
function choose(items) {
  const address = items.length ? chosenAddress(items) : location.href.split("#")[0];
  if (items.length || chosenInAddress()) history.replaceState(null, "", address);
  document.dispatchEvent(new CustomEvent("pairtile:chosen", { detail: { items } }));
}
// The names in the address; null where it chooses nothing.
function chosenInAddress() {
  const asked = location.hash.match(/^#(?:gene|pair|genes)=(.+)$/);
  try {
    return asked && asked[1].split(",").map(decodeURIComponent);
  } catch {
    return null; // not what encodeURIComponent wrote
  }
}
{
  const follow = () => {
    const items = chosenInAddress();
    if (items) choose(items);
    else unfold(location.hash.slice(1));
  };
  // What a link leads to is opened: the part itself, and what it is folded into.
  function unfold(id) {
    const place = document.getElementById(id);
    const folded = place && (place.closest("details") ?? place.querySelector(":scope > details"));
    if (!folded || folded.open) return;
    folded.open = true;
    place.scrollIntoView();
  }
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.("a[href^='#']");
    if (link) unfold(link.hash.slice(1));
  });
  addEventListener("hashchange", follow);
  // After every listener of the page's other scripts, which are ready by then.
  document.addEventListener("DOMContentLoaded", () => addEventListener("load", follow));
}
