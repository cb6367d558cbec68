// What is changed in a session's messages on their way. No editor here: vitest runs it.

export interface Message {
  type?: "request" | "response" | "event";
  seq?: number;
  request_seq?: number;
  command?: string;
  event?: string;
  success?: boolean;
  arguments?: Record<string, unknown>;
  message?: string;
  body?: Record<string, unknown>;
}

/** attach and launch. */
export function begins(message: Message): boolean {
  return message.command === "attach" || message.command === "launch";
}

/** To the server, which is not told how it is reached. */
export function toServer(message: Message, token: string): Message {
  if (message.type !== "request" || !begins(message)) {
    return message;
  }
  const told = { ...message.arguments };
  delete told["connect"];
  return { ...message, arguments: token ? { ...told, token } : told };
}

/** From it: the session of a rank or a child process is to be at the same server. A number of a process means another
 * process on another machine. */
export function fromServer(message: Message, connect: unknown): Message {
  if (message.type !== "request" || message.command !== "startDebugging" || connect === undefined) {
    return message;
  }
  const configuration = { ...(message.arguments?.["configuration"] as object), connect };
  return { ...message, arguments: { ...message.arguments, configuration } };
}

/** What VS Code is told beside what the server says: it shows why a thread stopped first until that goes on, and takes
 * nothing for going on that another than itself has asked for. Here a thread that is shown where it hangs may be held, and
 * stops once more by that; and *Release* is a command of ours. */
export class GoingOn {
  private readonly stopped = new Set<unknown>();
  private readonly released = new Map<unknown, unknown>();

  /** To the server. Returns what VS Code is to hear before that. */
  asked(message: Message): Message[] {
    const thread = message.arguments?.["threadId"];
    if (message.command === "continue") {
      this.released.set(message.seq, thread);
    }
    return message.command === "pause" && this.stopped.delete(thread) ? [continued(thread)] : [];
  }

  /** From the server. Returns what VS Code is to hear after that. */
  told(message: Message): Message[] {
    const thread = message.body?.["threadId"];
    if (message.event === "stopped") {
      this.stopped.add(thread);
    } else if (message.event === "continued") {
      this.stopped.delete(thread);
    }
    const released = this.released.get(message.request_seq);
    this.released.delete(message.request_seq);
    if (released === undefined || !message.success) {
      return [];
    }
    this.stopped.delete(released);
    return [continued(released)];
  }
}

function continued(thread: unknown): Message {
  return { type: "event", event: "continued", body: { threadId: thread, allThreadsContinued: false } };
}
