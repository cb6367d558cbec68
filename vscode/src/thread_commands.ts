// hold, release and raise: what the context menu of a thread in the call stack offers, and the palette for the thread
// that is chosen there.
import * as vscode from "vscode";

import type { Sessions } from "./sessions";

interface Thread {
  session: vscode.DebugSession;
  id: number;
}

const STANDS_WITHIN_MS = 1_000;

export class ThreadCommands {
  constructor(private readonly sessions: Sessions) {}

  async hold(where: unknown[]): Promise<void> {
    await this.ask(where, "pause");
  }

  async release(where: unknown[]): Promise<void> {
    await this.ask(where, "continue");
  }

  /** In a thread that is held; another is held first. */
  async raise(where: unknown[]): Promise<void> {
    const thread = await this.threadOf(where);
    if (thread === undefined) {
      nothingChosen();
      return;
    }
    const expression = await vscode.window.showInputBox({
      title: "Raise in this thread",
      prompt: "A class of exceptions, or an instance: Python, in the thread's innermost frame",
      value: "TimeoutError('enough')",
    });
    if (!expression) {
      return;
    }
    await reported(async () => {
      await this.held(thread);
      const { stackFrames } = (await thread.session.customRequest("stackTrace", {
        threadId: thread.id, startFrame: 0, levels: 1,
      })) as { stackFrames: { id: number }[] };
      const { result } = (await thread.session.customRequest("evaluate", {
        expression: `raise ${expression}`, frameId: stackFrames[0]?.id, context: "repl",
      })) as { result: string };
      void vscode.window.showInformationMessage(result);
    });
  }

  private async ask(where: unknown[], command: string): Promise<void> {
    const thread = await this.threadOf(where);
    if (thread === undefined) {
      nothingChosen();
      return;
    }
    await reported(async () => {
      await thread.session.customRequest(command, { threadId: thread.id, singleThread: true });
    });
  }

  /** pause is answered before the thread stands. */
  private async held(thread: Thread): Promise<void> {
    const watches: vscode.Disposable[] = [];
    const stands = new Promise<void>((resolve) => {
      watches.push(this.sessions.onStop((stop) => {
        if (stop.sessionId === thread.session.id && stop.threadId === thread.id) {
          resolve();
        }
      }));
      const late = setTimeout(resolve, STANDS_WITHIN_MS);
      watches.push({ dispose: () => { clearTimeout(late); } });
    });
    try {
      await thread.session.customRequest("pause", { threadId: thread.id });
      await stands;
    } finally {
      watches.forEach((one) => { one.dispose(); });
    }
  }

  /** The menu of a thread, or of a frame of it, passes its id; that of a session, which may stand for its only thread, the
   * session's alone; the palette nothing. */
  private async threadOf(where: unknown[]): Promise<Thread | undefined> {
    const { sessionId, threadId } = (where[1] ?? {}) as { sessionId?: string; threadId?: string };
    const session = sessionId === undefined ? vscode.debug.activeDebugSession : this.sessions.find(sessionId);
    if (session?.type !== "hangdbg") {
      return undefined;
    }
    const id = /:(\d+)$/.exec(threadId ?? "")?.[1]; // thread:SESSION:ID
    if (id !== undefined) {
      return { session, id: Number(id) };
    }
    const active = vscode.debug.activeStackItem;
    if (active?.session.id === session.id) {
      return { session, id: active.threadId };
    }
    const { threads } = (await session.customRequest("threads")) as { threads: { id: number }[] };
    const [only, ...others] = threads;
    return only !== undefined && others.length === 0 ? { session, id: only.id } : undefined;
  }
}

async function reported(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
  }
}

function nothingChosen(): void {
  void vscode.window.showInformationMessage("Choose a thread in the call stack first");
}
