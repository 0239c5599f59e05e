// What is under the pointer, said beside it; nothing without lines.
"use strict";
const pointerHint = document.createElement("div");
pointerHint.className = "hint";
pointerHint.hidden = true;
document.body.append(pointerHint);
function tell(lines, event) {
  pointerHint.hidden = !lines;
  if (!lines) return;
  pointerHint.textContent = lines.join("\n");
  const room = document.documentElement.clientWidth - pointerHint.offsetWidth - 8;
  pointerHint.style.left = `${Math.max(0, Math.min(event.clientX + 14, room))}px`;
  pointerHint.style.top = `${Math.max(0, event.clientY - pointerHint.offsetHeight - 10)}px`;
}
