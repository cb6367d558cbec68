// A job over many machines: what `hangdbg ps --via HOW --json` says as one survey. No editor here: vitest runs it.

import type { Job, Process, Survey } from "./processes";

/** As much as is read here of an answer by --via. */
export interface NodesAnswer {
  nodes: {
    node: string;
    answer?: Partial<Survey> | null;
    error?: { message: string } | null;
  }[];
}

export interface NodesSurvey extends Survey {
  /** Why a node gave no answer, a line each. */
  failed: string[];
}

/** Jobs of one name are one job; a rank that another node has is not missing. */
export function joined(answer: NodesAnswer): NodesSurvey {
  const survey: NodesSurvey = { processes: [], jobs: [], failed: [] };
  const jobs = new Map<string, Job>();
  for (const { node, answer: said, error } of answer.nodes) {
    if (error) {
      survey.failed.push(`${node}: ${error.message}`);
    }
    survey.processes.push(...(said?.processes ?? []).map((one): Process => ({ ...one, node })));
    for (const job of said?.jobs ?? []) {
      const known = jobs.get(job.job);
      jobs.set(job.job, known === undefined ? job : {
        ...known,
        ranks: ascending([...known.ranks, ...job.ranks]),
        missing: ascending([...known.missing, ...job.missing]),
        elsewhere: ascending([...known.elsewhere, ...job.elsewhere]),
      });
    }
  }
  survey.jobs = [...jobs.values()].map((job) => {
    const others = (ranks: number[]) => ranks.filter((rank) => !job.ranks.includes(rank));
    return { ...job, missing: others(job.missing), elsewhere: others(job.elsewhere) };
  });
  return survey;
}

/** The prompt in a rank, on whichever node it is: words for a terminal. */
export function promptWords(via: string, job: string, rank: number): string[] {
  return ["attach", "--job", job, "--ranks", String(rank), "--via", via];
}

function ascending(ranks: number[]): number[] {
  return [...new Set(ranks)].sort((one, other) => one - other);
}
