// Each figure to a file, from the page alone: as it is printed (SVG), or as pixels (PNG).
"use strict";
for (const figure of document.querySelectorAll(".figures figure")) {
  const PIXELS = 3; // for each of the drawing's own: about 300 to the inch
  const image = figure.querySelector("img");
  const name = figure.id.replace("figure-", "");
  const formats = {
    SVG: () => {
      const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (letter) => letter.charCodeAt(0));
      saveFile(new Blob([bytes], { type: "image/svg+xml" }), `${name}.svg`);
    },
    PNG: () => {
      const canvas = document.createElement("canvas");
      canvas.width = PIXELS * image.naturalWidth;
      canvas.height = PIXELS * image.naturalHeight;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((content) => saveFile(content, `${name}.png`));
    },
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
