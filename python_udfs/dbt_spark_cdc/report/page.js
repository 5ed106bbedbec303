
"use strict";
const valueOf = (row, column) => {
  const cell = row.cells[column];
  const text = cell.dataset.v ?? cell.textContent.trim();
  if (!cell.classList.contains("r")) return text.toLowerCase();
  const number = Number(text.replaceAll(",", ""));
  return text === "" || text === "-" || Number.isNaN(number) ? -Infinity : number;
};
for (const table of document.querySelectorAll("table.sort")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = document.createElement("button");
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const isUp = heading.getAttribute("aria-sort") === "descending";
      headings.forEach(other => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map(row => [valueOf(row, column), row]);
      rows.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0) * (isUp ? 1 : -1));
      body.replaceChildren(...rows.map(([, row]) => row));
    });
  });
}
for (const field of document.querySelectorAll("input[data-table]")) {
  field.hidden = false;
  const rows = document.getElementById(field.dataset.table).tBodies[0].rows;
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });
}
