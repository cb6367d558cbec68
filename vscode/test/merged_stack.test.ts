import { expect, test } from "vitest";

import { page, type Branch, type MergedStack } from "../src/merged_stack";

function branch(name: string | null, ranks: number[], children: Branch[] = []): Branch {
  return {
    frame: name === null ? null : `${name} (/srv/${name}.py:3)`,
    ...(name === null ? {} : { function: name, file: `/srv/${name}.py`, line: 3 }),
    ranks, pids: null, threads: ranks.length, children,
  };
}

const PARTED: MergedStack = {
  tree: branch(null, [0, 1, 2, 3], [
    branch("main", [0, 1, 2, 3], [branch("reduce", [0, 1, 3]), branch("load", [2])]),
  ]),
  odd: [{ ranks: [2], pids: null, why: "in load" }],
  differences: { frame: "main", locals: { step: [{ repr: "12", ranks: [0, 1, 3], pids: null }, { repr: "11", ranks: [2], pids: null }] } },
};

const html = (merged: MergedStack) => page("job", merged, "n0nce", "style.css", "vscode-resource:");

test("who is elsewhere comes before the tree", () => {
  const text = html(PARTED);
  expect(text.indexOf("<b>2</b>: in load")).toBeGreaterThan(0);
  expect(text.indexOf("<b>2</b>: in load")).toBeLessThan(text.indexOf('role="tree"'));
});

test("a level is where they part", () => {
  const text = html(PARTED);
  expect(text.match(/role="treeitem"/g)).toHaveLength(3);
  expect(text).toContain("[0-3]");
  expect(text).toContain("[0-1,3]");
  expect(text.match(/is-odd/g)).toHaveLength(1);
});

test("a frame knows its line, a branch its ranks", () => {
  const text = html(PARTED);
  expect(text).toContain('data-file="/srv/load.py" data-line="3"');
  expect(text).toContain('data-debug="0,1,3"');
  expect(text).toContain("<code>11</code> [2]");
});

test("what processes are called is text", () => {
  const hostile = branch('<img src=x onerror="alert(1)">', [0]);
  const text = html({ tree: hostile, odd: [{ ranks: [0], pids: null, why: "<script>" }] });
  expect(text).not.toContain("<img");
  expect(text.match(/<script/g)).toHaveLength(1);
});

test("where all are at one place, that is said", () => {
  expect(html({ tree: branch("main", [0, 1]), odd: [] })).toContain("All ranks are at the same place");
});
