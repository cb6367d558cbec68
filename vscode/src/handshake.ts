// Whether this extension and a program understand each other (protocol/version.h has the program's number).

export const PROTOCOL = 1;

export interface Spoken {
  version?: string;
  protocol?: number;
}

/** What is wrong, or undefined. */
export function mismatch(program: Spoken, extension: string): string | undefined {
  if (program.protocol === PROTOCOL) {
    return undefined;
  }
  const theirs = program.version ?? "of an unknown version";
  const newer = (program.protocol ?? 0) > PROTOCOL;
  return (
    `hangdbg ${theirs} speaks protocol ${program.protocol ?? "none"}, this extension (${extension}) ${PROTOCOL}: ` +
    `update ${newer ? "the extension" : "the program"}`
  );
}

/** What `initialize` was answered. */
export function spokenBy(capabilities: Record<string, unknown> | undefined): Spoken {
  const version = capabilities?.["hangdbg/version"];
  const protocol = capabilities?.["hangdbg/protocol"];
  return {
    ...(typeof version === "string" ? { version } : {}),
    ...(typeof protocol === "number" ? { protocol } : {}),
  };
}
