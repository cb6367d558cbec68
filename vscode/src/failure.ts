// Why something cannot be, as `hangdbg` says it: a kind, one line, and what to do about it.

export interface Failure {
  type: string;
  message: string;
  hint?: string | null;
}

export class ProgramError extends Error {
  constructor(readonly failure: Failure) {
    super(textOf(failure));
  }
}

export function textOf(failure: Failure): string {
  return failure.hint ? `${failure.message}\n${failure.hint}` : failure.message;
}

/** Of what it has printed on stderr: "hangdbg: CAUSE", and hints in the lines after it. */
export function errorOf(stderr: string, otherwise: string): Failure {
  const lines = stderr.split("\n").map((line) => line.trim()).filter((line) => line);
  const [first = otherwise, ...hints] = lines;
  return {
    type: "error",
    message: first.replace(/^hangdbg: /, "").replace(/^error: /, ""),
    hint: hints.map((line) => line.replace(/^try: /, "")).join("\n") || null,
  };
}

/** Of a refused request: the server names the kind, and puts hints in the lines after the first. */
export function failureOf(body: Record<string, unknown> | undefined, message: string | undefined): Failure {
  const error = body?.["error"] as { format?: unknown } | undefined;
  const ours = body?.["hangdbg"] as { id?: unknown } | undefined;
  const text = typeof error?.format === "string" ? error.format : (message ?? "refused");
  return { ...errorOf(text, text), type: typeof ours?.id === "string" ? ours.id : "error" };
}

export interface Mend {
  label: string;
  /** What to type; copied where it cannot be done for the person. */
  command?: string;
  setting?: string;
}

/** The button of the dialog. */
export function mendOf(failure: Failure, pid?: number): Mend | undefined {
  const text = textOf(failure).toLowerCase();
  if (failure.type === "no-program") {
    return { label: "Open Settings", setting: "hangdbg.path" };
  }
  if (text.includes("ptrace_scope")) {
    return { label: "Copy the Command", command: "sudo sysctl kernel.yama.ptrace_scope=0" };
  }
  if (text.includes("permi") || text.includes("another user")) {
    return { label: "Copy the Command", command: `sudo hangdbg doctor ${pid ?? "PID"}` };
  }
  return undefined;
}
