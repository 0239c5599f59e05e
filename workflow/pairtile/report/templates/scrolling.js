// What may scroll by itself, in a narrow window, is reached with the keyboard, too.
"use strict";
for (const box of document.querySelectorAll(".table-scroll")) box.tabIndex = 0;
