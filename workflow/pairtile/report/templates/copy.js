// The methods paragraph to the clipboard.
"use strict";
document.getElementById("methods-copy").addEventListener("click", async () => {
  const references = [...document.querySelectorAll("#methods-references li")];
  const text = [
    document.getElementById("methods-text").textContent,
    "",
    ...references.map((item, i) => `${i + 1}. ${item.textContent.trim()}`),
  ].join("\n");
  const done = document.getElementById("methods-copied");
  try {
    await navigator.clipboard.writeText(text);
    done.textContent = "Copied.";
  } catch {
    done.textContent = "Your browser refused; please select the text.";
  }
});
