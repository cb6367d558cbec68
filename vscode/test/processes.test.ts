import { expect, test } from "vitest";

import { doing, howLong, rankSet, ranksOf, shortCommand, sorted, type Process } from "../src/processes";

function process(pid: number, more: Partial<Process> = {}): Process {
  return {
    pid, ppid: 1, rank: null, job: null, role: null, python: "3.11.7", state: "blocked", hung: false, stalled: false,
    waits: "", waiting_s: null, cmdline: ["python3", "a.py"], error: null, ...more,
  };
}

test("the stalled come first, ranks in their order, then who waits longest", () => {
  const all = [
    process(1),
    process(2, { stalled: true, waiting_s: 5 }),
    process(3, { stalled: true, waiting_s: 50 }),
    process(4, { stalled: true, job: "j", rank: 10, waiting_s: 1 }),
    process(5, { stalled: true, job: "j", rank: 9, waiting_s: 1 }),
  ];
  expect(sorted(all).map((one) => one.pid)).toEqual([5, 4, 3, 2, 1]);
});

test.each([
  [0.25, "0.3 s"], [59.9, "59 s"], [60, "1 min"], [319.4, "5 min 19 s"], [3600, "1 h"], [90061, "1 d 1 h"],
  [86400, "1 d"],
])("%f s is told as %s", (seconds, text) => {
  expect(howLong(seconds)).toBe(text);
});

test("what it does: its error before all else, and for how long", () => {
  expect(doing(process(1, { waits: "futex at a.py:3 in f", waiting_s: 61 }))).toBe("futex at a.py:3 in f, for 1 min 1 s");
  expect(doing(process(1))).toBe("blocked");
  expect(doing(process(1, { error: "not permitted", waits: "futex" }))).toBe("not permitted");
});

test.each([
  [["/usr/bin/python3", "/srv/train.py", "--lr", "0.1"], "train.py --lr 0.1"],
  [["/opt/python3.14t", "-m", "pytest"], "-m pytest"],
  [["python3", "-u", "-B", "/srv/a.py", "-v"], "a.py -v"],
  [["python3", "-c", "import os\nos.fork()"], "-c import os os.fork()"],
  [["python3", "x".repeat(200)], `${"x".repeat(79)}…`],
  [["python3", "-i"], "-i"],
  [["/usr/local/bin/gunicorn", "app:app"], "gunicorn app:app"],
  [["python3"], "python3"],
  [[], ""],
])("%j is %s", (words, text) => {
  expect(shortCommand(words)).toBe(text);
});

test.each([
  [[], ""], [[3], "3"], [[2, 0, 1], "0-2"], [[0, 1, 3, 4, 5, 9], "0-1,3-5,9"], [[1, 1], "1"],
])("the set %j is %s", (ranks, text) => {
  expect(rankSet(ranks)).toBe(text);
});

test("a job's ranks, without their children", () => {
  const processes = [
    process(1, { job: "j", role: "rank", rank: 1 }),
    process(2, { job: "j", role: "child", rank: 0 }),
    process(3, { job: "j", role: "rank", rank: 0 }),
    process(4, { job: "k", role: "rank", rank: 0 }),
  ];
  expect(ranksOf({ processes, jobs: [] }, "j").map((one) => one.pid)).toEqual([3, 1]);
});
