// What `hangdbg ps --json` prints. scripts/write-reference writes it, from docs/schemas.

export interface Processes {
  /** A Python process each, hung ones first */
  processes: Process[];
  /** A parallel job each */
  jobs: Job[];
}

export interface Process {
  /** PID */
  pid: number;
  /** PID of the parent */
  ppid: number;
  /** Number of the user */
  uid: number;
  /** Rank in the job; null: not of a job */
  rank: number | null;
  /** Name of the job; null: not of a job */
  job: string | null;
  /** `rank`, `child`, `launcher`, `left over` or `no number yet`; null: not of a job */
  role: string | null;
  /** Version of the interpreter, `t` behind it if free-threaded; null: not Python, or unknown */
  python: string | null;
  /** `stuck`, `blocked`, `unknown`, `polling`, `idle`, `running` (diagnose.md) or `ended` */
  state: string;
  /** Whether it hangs: nothing that exists can end its wait */
  hung: boolean;
  /** Whether it has not got on for `--hung-after` seconds, and not by design; also of what hangs */
  stalled: boolean;
  /** Id of the cause that `diagnose` finds; null: not looked into */
  cause: string | null;
  /** In which call and at which line, in words */
  waits: string;
  /** For how long it has waited, in seconds; null: unknown, or it does not wait */
  waiting_s: number | null;
  /** Command line, a word each */
  cmdline: string[];
  /** Why not more is known, in words; null: all is */
  error: string | null;
}

export interface Job {
  /** Name of the job */
  job: string;
  /** `torch`, `Slurm`, `Open MPI`, `MPICH`, ... */
  kind: string;
  /** PID of the launcher; null: not seen */
  launcher: number | null;
  /** Number of ranks of the whole job; null: unknown */
  world_size: number | null;
  /** Ranks that are here */
  ranks: number[];
  /** Ranks of the job that are not on this machine or have ended */
  missing: number[];
  /** Ranks on other machines */
  elsewhere: number[];
  /** Ranks whose launcher has ended */
  orphans: number[];
  /** PIDs of ranks of an earlier start */
  left_over: number[];
  /** PIDs of those that have ended and that nobody has reaped */
  zombies: number[];
}
