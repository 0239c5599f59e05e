// Heat maps: over each picture lies a layer that finds the cell under the pointer, says what it is,
// chooses it where it is clicked, and marks what is chosen. No cell is drawn.
"use strict";
{
  const place = (element, left, top, width, height) =>
    Object.entries({ left, top, width, height }).forEach(([side, share]) => (element.style[side] = `${100 * share}%`));
  // The numbers of a map (declare/maps.py), NaN where there is none.
  async function unpacked({ codes, width, shape, ends: [low, high], mirrored }) {
    const bytes = Uint8Array.from(atob(codes), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(stream).arrayBuffer();
    const cells = width === 2 ? new Uint16Array(buffer) : new Uint8Array(buffer);
    const most = 256 ** width - 2;
    const digits = Math.min(20, Math.max(0, Math.floor(-Math.log10((high - low) / most || 1))));
    return (row, column) => {
      const code = mirrored && column > row ? cells[column * shape[1] + row] : cells[row * shape[1] + column];
      const value = low + (code / most) * (high - low);
      return code > most ? NaN : Number(Number(value.toFixed(digits)).toPrecision(3));
    };
  }
  function layer(map) {
    const [cells, [n, m]] = [document.createElement("div"), map.shape];
    const [[rowHead, rows], [columnHead, columns]] = map.names;
    const chooses = map.items && rows.length === n;
    cells.className = chooses ? "cells choosing" : "cells";
    place(cells, ...map.box);
    const at = ({ offsetX, offsetY }) => {
      const [row, column] = [[offsetY / cells.clientHeight, n], [offsetX / cells.clientWidth, m]].map(([share, k]) =>
        Math.max(0, Math.min(k - 1, Math.floor(share * k))));
      return [map.up ? n - 1 - row : row, column];
    };
    const named = (names, k, of) => {
      const block = Math.ceil(names.length / of);
      return [...new Set([names[k * block], names[Math.min((k + 1) * block, names.length) - 1]])].join(" to ");
    };
    let values = null;
    async function look(event) {
      const value = (await (values ??= unpacked(map)))(...at(event));
      const [row, column] = at(event);
      tell(isNaN(value) ? null : [`${rowHead}: ${named(rows, row, n)}`, `${columnHead}: ${named(columns, column, m)}`, `${map.label}: ${value}`], event);
    }
    cells.addEventListener("pointermove", look);
    cells.addEventListener("pointerdown", look);
    cells.addEventListener("pointerleave", (event) => tell(null, event));
    if (!chooses) return cells;
    cells.addEventListener("click", (event) => {
      const [row, column] = at(event);
      choose([rows[row], columns[column]]);
    });
    // An item is a row and a column, a pair the two cells where they cross.
    const mark = (row, column) => {
      const element = document.createElement("div");
      const top = map.up ? n - 1 - row : row;
      place(element, (column ?? 0) / m, (row === null ? 0 : top) / n, (column === null ? m : 1) / m, (row === null ? n : 1) / n);
      return element;
    };
    document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
      const [one, other = null] = items.map((name) => [rows.indexOf(name), columns.indexOf(name)]);
      const found = !one ? [] : other ? [[one[0], other[1]], [other[0], one[1]]] : [[one[0], null], [null, one[1]]];
      cells.replaceChildren(...found.filter((ends) => !ends.includes(-1)).map((ends) => mark(...ends)));
    });
    return cells;
  }
  for (const data of document.querySelectorAll("figure > script.maps")) {
    const [frame, image, over] = [document.createElement("div"), data.parentElement.querySelector("img"), document.createElement("div")];
    frame.className = "map";
    image.replaceWith(frame);
    over.append(...JSON.parse(data.textContent).maps.map(layer));
    frame.append(image, over);
  }
}
