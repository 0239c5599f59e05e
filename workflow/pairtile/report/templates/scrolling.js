// What scrolls by itself is reached with the keyboard, too; what does not is no stop on the way.
"use strict";
const scrolling = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = target;
    if (scrollWidth > clientWidth || scrollHeight > clientHeight) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll(".table-scroll")) scrolling.observe(box);
