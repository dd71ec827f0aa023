// A click on a column's title sorts the table: numbers in falling order first, text in rising order. Summary rows stay
// at the bottom.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
      const rows = [...body.rows];
      const numeric = rows.every((row) => key(row) === "" || !isNaN(key(row)));
      const before = head.getAttribute("aria-sort");
      const falling = before ? before === "ascending" : numeric;
      table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === ""); // missing values come last
        const order = numeric ? x - y : x.localeCompare(y, "en");
        return falling ? -order : order;
      });
      body.append(...rows);
    });
  });
}
