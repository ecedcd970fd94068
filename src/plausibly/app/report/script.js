"use strict";
// Columns are sorted by a click on their heads, and long tables have a filter. Without this script the page is whole.
const least = 10; // rows that get a filter
const number = /^[<>]?[+\-−]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?( %)?(\s*[[(±][^]*)?$/; // with its unit, and its interval or error
const value = text => Number.parseFloat(text.replace(/^[<>]/, "").replace("−", "-").replace(/,(?=\d{3})/g, ""));

function sort(table, head, column) {
  const body = table.tBodies[0], rows = [...body.rows];
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const texts = new Map(rows.map(row => [row, row.cells[column].textContent.trim()]));
  const known = [...texts.values()].filter(text => text);
  const numeric = known.every(text => number.test(text));
  const names = new Intl.Collator(undefined, { numeric: true });
  const compare = numeric ? (a, b) => value(a) - value(b) : names.compare;
  rows.sort((one, other) => {
    const a = texts.get(one), b = texts.get(other);
    return a && b ? (down ? -1 : 1) * compare(a, b) : !a - !b; // what is empty comes last
  });
  body.append(...rows);
}

function filter(table, words, shown) {
  const rows = [...table.tBodies[0].rows], wanted = words.toLowerCase();
  for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  shown.textContent = wanted ? `${rows.filter(row => !row.hidden).length} of ${rows.length} rows` : "";
}

for (const table of document.querySelectorAll(".table > table")) {
  const heads = table.tHead.rows, rows = [...table.tBodies[0].rows];
  if (rows.length < 2) continue;
  [...heads[0].cells].forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head, column));
    head.append(button);
  });
  if (rows.length < least) continue;
  const [line, label, input, shown] = ["p", "label", "input", "output"].map(name => document.createElement(name));
  line.className = "filter";
  input.type = "search";
  input.addEventListener("input", () => filter(table, input.value, shown));
  label.append("Show rows that contain ", input);
  line.append(label, " ", shown);
  table.parentElement.before(line);
}
