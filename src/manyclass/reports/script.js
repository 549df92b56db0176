"use strict";
// Tables can be sorted by their columns; long ones can be searched, and are folded in at first.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const number = head.classList.contains("number");
      const value = (row) => {
        const text = row.cells[column].textContent;
        return number ? parseFloat(text.replaceAll(",", "")) || 0 : text;
      };
      const compare = number ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", { numeric: true });
      const rows = Array.from(body.rows, (row) => [value(row), row]);
      rows.sort((a, b) => (up ? compare(a[0], b[0]) : compare(b[0], a[0])));
      body.replaceChildren(...rows.map((pair) => pair[1]));
      table.dispatchEvent(new Event("sorted"));
    });
  });
}
for (const long of document.querySelectorAll(".long")) {
  const table = long.querySelector("table");
  const rows = table.tBodies[0].rows;
  const first = Number(long.dataset.first);
  const tools = document.createElement("div");
  const input = document.createElement("input");
  const told = document.createElement("span");
  const more = document.createElement("button");
  tools.className = "search";
  input.type = "search";
  input.placeholder = `Search ${long.dataset.search}`;
  input.setAttribute("aria-label", input.placeholder);
  told.setAttribute("aria-live", "polite");
  more.type = "button";
  let whole = false;
  const show = () => {
    const wanted = input.value.toLowerCase();
    let found = 0;
    for (const row of rows) {
      const fits = row.textContent.toLowerCase().includes(wanted);
      if (fits) found += 1;
      row.hidden = !fits || (!whole && found > first);
    }
    const shown = whole ? found : Math.min(found, first);
    told.textContent = `${shown} of ${rows.length} rows`;
    more.textContent = whole ? `Show ${first} at most` : `Show all ${found}`;
    more.hidden = found <= first;
  };
  input.addEventListener("input", show);
  table.addEventListener("sorted", show);
  more.addEventListener("click", () => { whole = !whole; show(); });
  tools.append(input, told, more);
  long.prepend(tools);
  show();
}
