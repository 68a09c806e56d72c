"use strict";

// Without this script the page is whole: the buttons are made here.
for (const table of document.querySelectorAll("table")) {
  makeSortable(table);
  makeCopyable(table);
  makeShort(table);
}

// On a phone the reports are folded but for the first; all are printed.
const folded = [...document.querySelectorAll("details.whole:not([data-open])")];
if (matchMedia("screen and (max-width: 40rem)").matches) for (const report of folded) report.open = false;
addEventListener("beforeprint", () => {
  for (const report of folded) report.open = true;
});

// Of a long table the first rows are seen at once, and its total.
function makeShort(table) {
  const count = table.tBodies[0].rows.length;
  const shown = Number(table.dataset.seen); // page.css hides the others
  if (count <= shown + 1) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "more";
  table.closest(".table").append(button);
  const toggle = () => {
    const isShort = table.classList.toggle("short");
    button.textContent = isShort ? `Show all ${count} rows` : `Show ${shown} rows`;
  };
  button.addEventListener("click", toggle);
  toggle();
}

function makeSortable(table) {
  const inReportsOrder = [...table.tBodies[0].rows];
  table.querySelectorAll("thead th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const direction = nextDirection(heading);
      for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction);
      const rows = sorted(inReportsOrder, column, heading.dataset.kind, direction);
      table.tBodies[0].append(...rows);
    });
  });
}

// Text is read from A, numbers and dates from the largest and newest.
function nextDirection(heading) {
  const first = heading.dataset.kind === "text" ? "ascending" : "descending";
  const second = first === "ascending" ? "descending" : "ascending";
  return heading.getAttribute("aria-sort") === first ? second : first;
}

function sorted(rows, column, kind, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  const compare = { text: byAlphabet, number: byNumber, share: byNumber, time: byCode, month: byCode }[kind];
  const value = (row) => row.cells[column].dataset.sort;
  const present = rows.filter((row) => value(row) !== undefined);
  const missing = rows.filter((row) => value(row) === undefined);
  return [...present.sort((a, b) => sign * compare(value(a), value(b))), ...missing];
}

function byNumber(a, b) {
  return Number(a) - Number(b);
}

function byCode(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

function byAlphabet(a, b) {
  return a.localeCompare(b, undefined, { numeric: true }) || byCode(a, b);
}

function makeCopyable(table) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy table";
  button.setAttribute("aria-label", `Copy table: ${table.caption.textContent.trim()}`);
  table.closest(".table").querySelector(".about").append(button);
  button.addEventListener("click", async () => {
    const lines = asLines(table);
    const done = await copied(lines.join("\n"));
    const words = done ? `Copied ${lines.length - 1} rows` : "Select the table to copy it";
    document.getElementById("status").textContent = words;
    button.textContent = words;
    setTimeout(() => (button.textContent = "Copy table"), 2500);
  });
}

// As tab-separated values, which spreadsheets take; numbers without separators, no total.
function asLines(table) {
  const kinds = [...table.tHead.rows[0].cells].map((heading) => heading.dataset.kind);
  const rows = [...table.rows].filter((row) => !row.matches("[data-total], .printed"));
  return rows.map((row) => [...row.cells].map((cell, column) => asValue(cell, kinds[column])).join("\t"));
}

function asValue(cell, kind) {
  if (cell.closest("thead")) return cell.textContent.trim();
  if (kind === "number" || kind === "share") return cell.dataset.sort ?? "";
  const text = cell.textContent.trim();
  if (kind !== "text") return text === "–" ? "" : text;
  // A spreadsheet would run it as a formula.
  return /^[=+\-@]/.test(text) ? `'${text}` : text;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedTheOldWay(text);
  }
}

// Where a file on disk may not use the clipboard.
function copiedTheOldWay(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  return done;
}
