// Where the page names a file of the results, it leads to it.
"use strict";
{
  const names = new Set([...document.querySelectorAll("#files th > a")].map((link) => link.textContent));
  for (const code of document.querySelectorAll("main code")) {
    if (!names.has(code.textContent) || code.closest("a, summary")) continue;
    const link = document.createElement("a");
    link.href = code.textContent;
    code.replaceWith(link);
    link.append(code);
  }
}
