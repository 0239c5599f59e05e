// Each figure to a file, from the page alone: as it is drawn (SVG), or as pixels (PNG).
"use strict";
(() => {
  const PIXELS = 3; // for each of the drawing's own: about 300 to the inch
  const decoded = (image) => Uint8Array.from(atob(image.src.split(",")[1]), (letter) => letter.charCodeAt(0));
  function pixels(image, name) {
    const canvas = document.createElement("canvas");
    canvas.width = PIXELS * image.naturalWidth;
    canvas.height = PIXELS * image.naturalHeight;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((content) => saveFile(content, `${name}.png`));
  }
  for (const figure of document.querySelectorAll(".figures figure")) {
    const image = figure.querySelector("img");
    const name = figure.id.replace("figure-", "");
    const formats = {
      SVG: () => saveFile(new Blob([decoded(image)], { type: "image/svg+xml" }), `${name}.svg`),
      PNG: () => pixels(image, name),
    };
    const buttons = document.createElement("span");
    buttons.className = "save";
    for (const [format, save] of Object.entries(formats)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Save ${format}`;
      button.setAttribute("aria-label", `Save ${format}: ${figure.querySelector("strong").textContent}`);
      button.addEventListener("click", save);
      buttons.append(button);
    }
    figure.querySelector("figcaption").append(" ", buttons);
  }
})();
