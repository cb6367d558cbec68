import { expect, test } from "vitest";

import { joined, promptWords } from "../src/nodes";
import type { Job, Process } from "../src/processes";

function rank(number: number): Process {
  return {
    pid: 100 + number, ppid: 1, rank: number, job: "run7", role: "rank", python: "3.11.7", state: "blocked", hung: false,
    stalled: true, waits: "futex", waiting_s: 9, cmdline: ["python3", "a.py"], error: null,
  };
}

function job(ranks: number[], missing: number[], elsewhere: number[]): Job {
  return { job: "run7", kind: "torch", launcher: 1, world_size: 5, ranks, missing, elsewhere };
}

test("a job over nodes is one job, and what another node has is not missing", () => {
  const survey = joined({
    nodes: [
      { node: "n1", answer: { processes: [rank(0), rank(1)], jobs: [job([0, 1], [], [2, 3, 4])] } },
      { node: "n2", answer: { processes: [rank(3)], jobs: [job([3], [2], [0, 1, 4])] } },
      { node: "n3", answer: null, error: { message: "no answer in 20.0 s" } },
    ],
  });
  expect(survey.jobs).toEqual([job([0, 1, 3], [2], [2, 4])]);
  expect(survey.processes.map((one) => [one.node, one.rank])).toEqual([["n1", 0], ["n1", 1], ["n2", 3]]);
  expect(survey.failed).toEqual(["n3: no answer in 20.0 s"]);
});

test("nodes without Python are none", () => {
  expect(joined({ nodes: [{ node: "n1", answer: { processes: [], jobs: [] } }, { node: "n2" }] })).toEqual(
    { processes: [], jobs: [], failed: [] });
});

test("a prompt in a rank of another node", () => {
  expect(promptWords("ssh:n[1-2]", "run7", 3)).toEqual(
    ["attach", "--job", "run7", "--ranks", "3", "--via", "ssh:n[1-2]"]);
});
