// All stored pairs: the partners of an item, or the best pairs, with a score from the one given on.
"use strict";
{
  const [of, least, names, status, table, save] = ["of", "least", "names", "status", "table", "save"].map(
    (name) => document.getElementById(`pairs-${name}`),
  );
  const counted = (n) => n.toLocaleString("en");
  const get = async (what, values) => {
    const answer = await fetch(`pairs/${what}?${new URLSearchParams(values)}`);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };
  let latest = 0; // an answer that comes late is not shown
  async function show() {
    const asked = { of: of.value.trim(), least: least.value };
    const turn = ++latest;
    status.textContent = "…";
    try {
      const { count, least: from, rows } = await get("list", asked);
      if (turn !== latest) return;
      table.tBodies[0].replaceChildren(...rows.map((names) => {
        const [row, score] = [document.createElement("tr"), names.pop()];
        for (const name of names) {
          const link = document.createElement("a");
          link.href = chosenAddress([name]);
          link.textContent = name;
          row.insertCell().append(link);
        }
        const last = row.insertCell();
        last.className = "n";
        last.textContent = score ?? "";
        return row;
      }));
      const what = `${counted(count)} ${asked.of ? table.dataset.own : table.dataset.all}`;
      const cut = rows.length < count ? `; the best ${counted(rows.length)} are listed, the file has all` : "";
      status.textContent = `${asked.of ? `${asked.of}: ` : ""}${what}${from ? ` with ${Number(from.toPrecision(4))} or more` : ""}${cut}.`;
      save.href = `pairs/list.tsv?${new URLSearchParams(asked)}`;
    } catch (error) {
      if (turn === latest) status.textContent = error.message;
    }
  }
  of.addEventListener("input", async () => {
    const found = await get("names", { like: of.value.trim() }).catch(() => ({ names: [] }));
    names.replaceChildren(...found.names.map((name) => new Option("", name)));
  });
  document.getElementById("pairs-form").addEventListener("submit", (event) => {
    event.preventDefault();
    choose(of.value.trim() ? [of.value.trim()] : []);
  });
  least.addEventListener("change", show);
  document.addEventListener("pairtile:chosen", ({ detail: { items } }) => {
    of.value = items[0] ?? "";
    show();
  });
  if (!chosenInAddress()) show();
}
