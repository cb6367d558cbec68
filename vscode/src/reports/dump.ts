// What `hangdbg dump --json` prints. scripts/write-reference writes it, from docs/schemas.

export interface Tree {
  /** Root of the merged tree */
  tree: Node;
  /** Outliers */
  odd: Odd[];
  /** Processes with equal stacks, together */
  classes: Class[];
  /** What could not be read, and ranks that are not here */
  missing: Missing[];
  /** Ranks of each machine, by its name */
  hosts?: Record<string, number[]>;
  /** In which locals the processes differ */
  differences?: Differences;
}

export interface Node {
  /** Frame, in words; null: the root */
  frame: string | null;
  /** Name of the function */
  function?: string;
  /** Path of the source file */
  file?: string;
  /** Line in it */
  line?: number;
  /** Ranks in it; null: see `pids` */
  ranks: number[] | null;
  /** PIDs, where there are no ranks; null: see `ranks` */
  pids: number[] | null;
  /** Number of threads in it */
  threads: number;
  /** Frames that it calls */
  children: Node[];
}

export interface Odd {
  /** Ranks; null: see `pids` */
  ranks: number[] | null;
  /** PIDs, where there are no ranks; null: see `ranks` */
  pids: number[] | null;
  /** Where it is, in words */
  why: string;
}

export interface Class {
  /** Ranks; null: see `pids` */
  ranks: number[] | null;
  /** PIDs, where there are no ranks; null: see `ranks` */
  pids: number[] | null;
  /** State */
  state: string;
  /** Stack, outermost frame first, in words */
  frames: string[];
}

export interface Missing {
  /** Rank; null: not of a job */
  rank: number | null;
  /** PID; null: not here */
  pid: number | null;
  /** Name of the machine */
  host?: string;
  /** Id of the error */
  type: string;
  /** The error in a sentence */
  message: string;
}

export interface Differences {
  /** Frame that they share, in words */
  frame: string;
  /** Values of each local, by its name */
  locals: Record<string, ValueOf[]>;
}

export interface ValueOf {
  /** Value, as `repr()` prints it; null: none */
  repr: string;
  /** Ranks; null: see `pids` */
  ranks: number[] | null;
  /** PIDs, where there are no ranks; null: see `ranks` */
  pids: number[] | null;
}
