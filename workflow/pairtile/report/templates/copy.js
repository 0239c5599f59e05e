// The methods paragraph to the clipboard; from a file:// page too, where the newer way may be shut.
"use strict";
(() => {
  const button = document.getElementById("methods-copy");
  const say = (text) => {
    document.getElementById("methods-copied").textContent = text;
  };
  const copyOldWay = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus();
    return done;
  };
  button.addEventListener("click", async () => {
    const references = [...document.querySelectorAll("#methods-references li")];
    const text = [
      document.getElementById("methods-text").textContent,
      "",
      ...references.map((item, i) => `${i + 1}. ${item.textContent.trim()}`),
    ].join("\n");
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      say(copyOldWay(text) ? "Copied." : "Your browser refused; please select the text.");
    }
  });
})();
