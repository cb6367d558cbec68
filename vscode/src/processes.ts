// What `hangdbg ps --json` says, and how it is told to a person. No editor here: vitest runs it.

import type * as ps from "./reports/ps";

// As much of it as is read here.
export type Process = Pick<
  ps.Process,
  | "pid" | "ppid" | "rank" | "job" | "role" | "python" | "state" | "hung" | "stalled" | "waits" | "waiting_s"
  | "cmdline" | "error"
> & {
  /** Of `--via`: where it is. */
  node?: string;
};
export type Job = Pick<
  ps.Job, "job" | "kind" | "launcher" | "world_size" | "ranks" | "missing" | "elsewhere"
>;

export interface Survey {
  processes: Process[];
  jobs: Job[];
}

/** The hung first, of those the ranks in their order, then those that wait longest. */
export function sorted(processes: readonly Process[]): Process[] {
  const key = (one: Process) => [
    one.stalled ? 0 : 1,
    one.job ?? "\uffff",
    one.rank ?? Number.MAX_SAFE_INTEGER,
    -(one.waiting_s ?? 0),
    one.pid,
  ];
  return [...processes].sort((left, right) => compare(key(left), key(right)));
}

function compare(left: (string | number)[], right: (string | number)[]): number {
  for (const [index, one] of left.entries()) {
    const other = right[index] ?? 0;
    if (one !== other) {
      return one < other ? -1 : 1;
    }
  }
  return 0;
}

/** "3 d 2 h", as hangdbg says it. */
export function howLong(seconds: number): string {
  const units: [string, number][] = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first < 0) {
    return `${seconds.toFixed(1)} s`;
  }
  let rest = Math.floor(seconds);
  return units
    .slice(first, first + 2)
    .map(([unit, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count > 0 ? `${count} ${unit}` : "";
    })
    .filter((text) => text)
    .join(" ");
}

/** What it does now: "futex at train.py:12 in step, for 2 min 3 s". */
export function doing(one: Process): string {
  if (one.error) {
    return one.error;
  }
  const time = one.waiting_s === null ? "" : `, for ${howLong(one.waiting_s)}`;
  return `${one.waits || one.state}${time}`;
}

const MOST_CHARACTERS = 80;

/** Without the interpreter, its flags, and where its files are: "train.py --epochs 3". */
export function shortCommand(cmdline: readonly string[]): string {
  const [program = "", ...rest] = cmdline;
  let words = [program, ...rest];
  if (/python[0-9.t]*$/.test(program) && rest.length > 0) {
    const script = rest.findIndex((word) => !word.startsWith("-") || word === "-m" || word === "-c");
    words = rest.slice(Math.max(0, script));
  }
  const text = words.map((word) => (word.startsWith("/") ? (word.split("/").at(-1) ?? word) : word)).join(" ");
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS - 1)}…` : line;
}

/** "Python 3.11.7", with its rank where it is one's. */
export function who(one: Process): string {
  const job = one.job === null ? "" : ` of ${one.job}`;
  const rank = one.rank === null ? "" : `rank ${one.rank}${one.role === "child" ? "'s child" : ""}${job}, `;
  return `${rank}Python ${one.python ?? "?"}`;
}

/** The processes of a job's ranks, by rank. */
export function ranksOf(survey: Survey, job: string): Process[] {
  return survey.processes
    .filter((one) => one.job === job && one.role === "rank")
    .sort((left, right) => (left.rank ?? 0) - (right.rank ?? 0));
}

/** "0-3,7" */
export function rankSet(ranks: readonly number[]): string {
  const parts: string[] = [];
  const all = [...new Set(ranks)].sort((left, right) => left - right);
  for (let at = 0; at < all.length; ) {
    let end = at;
    while (end + 1 < all.length && all[end + 1] === (all[end] ?? 0) + 1) {
      ++end;
    }
    parts.push(end > at ? `${all[at] ?? ""}-${all[end] ?? ""}` : `${all[at] ?? ""}`);
    at = end + 1;
  }
  return parts.join(",");
}
