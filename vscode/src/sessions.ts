// The sessions that are open: how many the status bar says, which of their threads stop, and an end to all of them.
import * as vscode from "vscode";

export interface Stop {
  sessionId: string;
  threadId: number;
}

export class Sessions implements vscode.Disposable {
  private readonly stops = new vscode.EventEmitter<Stop>();
  /** A thread has come to stand, or is shown where it is. */
  readonly onStop = this.stops.event;
  private readonly open = new Map<string, vscode.DebugSession>();
  private readonly status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 50);
  private readonly watched: vscode.Disposable[];

  constructor() {
    this.status.command = "hangdbg.detachAll";
    this.watched = [
      this.stops,
      vscode.debug.registerDebugAdapterTrackerFactory("hangdbg", {
        createDebugAdapterTracker: (session) => ({
          onDidSendMessage: (message: { event?: string; body?: { threadId?: number } }) => {
            if (message.event === "stopped" && message.body?.threadId !== undefined) {
              this.stops.fire({ sessionId: session.id, threadId: message.body.threadId });
            }
          },
        }),
      }),
      vscode.debug.onDidStartDebugSession((session) => {
        if (session.type === "hangdbg") {
          this.open.set(session.id, session);
          this.show();
        }
      }),
      vscode.debug.onDidTerminateDebugSession((session) => {
        this.open.delete(session.id);
        this.show();
      }),
    ];
  }

  find(id: string): vscode.DebugSession | undefined {
    return this.open.get(id);
  }

  /** Parents end their children. */
  async detachAll(): Promise<void> {
    const isOpen = (one: vscode.DebugSession | undefined) => one !== undefined && this.open.has(one.id);
    for (const session of [...this.open.values()].filter((one) => !isOpen(one.parentSession))) {
      await vscode.debug.stopDebugging(session);
    }
  }

  dispose(): void {
    this.status.dispose();
    for (const one of this.watched) {
      one.dispose();
    }
  }

  private show(): void {
    const sessions = [...this.open.values()];
    void vscode.commands.executeCommand("setContext", "hangdbg.attached", sessions.length > 0);
    const ranks = sessions.filter((one) => one.parentSession).length;
    const processes = sessions.length === 1 ? (sessions[0]?.name ?? "") : `${ranks || sessions.length} sessions`;
    this.status.text = `$(debug-alt) hangdbg: ${processes}`;
    this.status.tooltip = "Detach from everything: all goes on as it was";
    if (sessions.length > 0) {
      this.status.show();
    } else {
      this.status.hide();
    }
  }
}
