// The merged stack of `hangdbg dump --merge --json` as a page: who is elsewhere first, then the tree with who is in each
// branch. No editor here: vitest runs it.
import { rankSet } from "./processes";
import type * as dump from "./reports/dump";

export type Branch = dump.Node;

// As much of it as is read here. Older programs leave out what they do not know.
export type MergedStack = Pick<dump.Tree, "tree"> &
  Partial<Pick<dump.Tree, "differences">> & {
    odd: Pick<dump.Odd, "ranks" | "pids" | "why">[];
    missing?: Pick<dump.Missing, "rank" | "pid" | "message">[];
  };

/** What a click says to the extension. */
export type Said = { open: { file: string; line: number } } | { debug: number[] } | { again: true };

export function page(job: string, merged: MergedStack, nonce: string, style: string, source: string): string {
  const odd = merged.odd.map((one) => `<li><b>${who(one)}</b>: ${escaped(one.why)}</li>`);
  const missing = (merged.missing ?? []).map((one) => `<li>${escaped(one.message)}</li>`);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${style}">
<title>${escaped(job)}</title>
</head>
<body>
<header><h1>${escaped(job)}</h1><button data-again>Look again</button></header>
<ul class="odd">${[...missing, ...odd].join("") || "<li>All ranks are at the same place.</li>"}</ul>
${differences(merged)}
<div role="tree" aria-label="Merged stack">${branches(merged.tree, oddOnes(merged))}</div>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

export function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (sign) => names[sign] ?? sign);
}

/** A chain of frames in which nobody parts is one block: a level of the tree is where they do. */
function branches(branch: Branch, odd: ReadonlySet<number>): string {
  const chain = [branch];
  let last = branch;
  while (last.children.length === 1 && last.children[0]?.threads === last.threads) {
    last = last.children[0];
    chain.push(last);
  }
  const ranks = branch.ranks ?? [];
  const isOdd = ranks.length > 0 && ranks.every((rank) => odd.has(rank));
  const debug = branch.ranks ? `<button data-debug="${ranks.join(",")}">debug</button>` : "";
  const frames = chain.filter((one) => one.frame !== null).map(frame).join("");
  const label = `<span class="who">[${who(branch)}]</span> ${branch.threads} ${branch.ranks ? "rank" : "thread"}${branch.threads === 1 ? "" : "s"} ${debug}`;
  const children = last.children.map((child) => branches(child, odd)).join("");
  return `<div role="treeitem" tabindex="-1" aria-expanded="true" class="branch${isOdd ? " is-odd" : ""}">
<div class="label">${label}</div>${frames}<div role="group">${children}</div></div>`;
}

function frame(one: Branch): string {
  const name = escaped(one.function ?? one.frame ?? "");
  if (!one.file || !one.line) {
    return `<div class="frame native">${escaped(one.frame ?? "")}</div>`;
  }
  const short = escaped(one.file.split("/").at(-1) ?? "");
  const where = `data-file="${escaped(one.file)}" data-line="${one.line}" title="${escaped(one.file)}:${one.line}"`;
  return `<div class="frame"><a href="#" tabindex="-1" ${where}>${name} <span class="where">${short}:${one.line}</span></a></div>`;
}

function who(one: { ranks: number[] | null; pids: number[] | null }): string {
  return one.ranks ? rankSet(one.ranks) : (one.pids ?? []).join(",");
}

function oddOnes(merged: MergedStack): Set<number> {
  return new Set(merged.odd.flatMap((one) => one.ranks ?? []));
}

function differences(merged: MergedStack): string {
  if (!merged.differences) {
    return "";
  }
  const rows = Object.entries(merged.differences.locals).map(([name, values]) => {
    const texts = values.map((one) => `<code>${escaped(one.repr)}</code> [${who(one)}]`);
    return `<tr><th>${escaped(name)}</th><td>${texts.join(", ")}</td></tr>`;
  });
  return `<h2>They differ in ${escaped(merged.differences.frame)}</h2><table>${rows.join("")}</table>`;
}

// Arrows walk the tree as in VS Code's own: up and down all lines; left to the branch, then it folds, then to the one
// above; right unfolds, then down.
const SCRIPT = `
const vscode = acquireVsCodeApi();
const lines = () => [...document.querySelectorAll(".label, .frame a")].filter((one) => one.offsetParent);
const act = (one) => {
  const { file, line, debug, again } = one.dataset;
  if (file) vscode.postMessage({ open: { file, line: Number(line) } });
  else if (debug) vscode.postMessage({ debug: debug.split(",").map(Number) });
  else if (again !== undefined) vscode.postMessage({ again: true });
  else return false;
  return true;
};
const isOpen = (branch) => branch.getAttribute("aria-expanded") === "true";
const fold = (branch, open) => branch.setAttribute("aria-expanded", String(open));
const toLabel = (branch) => branch?.querySelector(".label").focus();
const left = (one, branch) => {
  if (!one.matches(".label")) toLabel(branch);
  else if (isOpen(branch)) fold(branch, false);
  else toLabel(branch.parentElement.closest(".branch"));
};
for (const label of document.querySelectorAll(".label")) label.tabIndex = -1;
if (lines()[0]) lines()[0].tabIndex = 0;
document.addEventListener("click", (event) => {
  const one = event.target.closest("[data-file], [data-debug], [data-again]");
  if (one && act(one)) { event.preventDefault(); return; }
  const label = event.target.closest(".label");
  if (label) fold(label.parentElement, !isOpen(label.parentElement));
});
document.addEventListener("keydown", (event) => {
  const all = lines();
  const at = all.indexOf(document.activeElement);
  const branch = all[at]?.closest(".branch");
  const right = branch && isOpen(branch) ? at + 1 : undefined;
  const to = { ArrowDown: at + 1, ArrowRight: right, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to !== undefined) { all[Math.max(0, Math.min(all.length - 1, to))]?.focus(); event.preventDefault(); }
  else if (branch && event.key === "ArrowLeft") left(all[at], branch);
  else if (branch && event.key === "ArrowRight") fold(branch, true);
  else if (event.key === "Enter" && at >= 0) {
    const one = all[at].matches("a") ? all[at] : all[at].querySelector("[data-debug]");
    if (one && act(one)) event.preventDefault();
  }
});
`;
