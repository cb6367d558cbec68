// One session's messages over a WebSocket: VS Code has no descriptor for that, and runs this in its own process.
import * as vscode from "vscode";

import { ProgramError } from "./failure";
import { mismatch, spokenBy } from "./handshake";
import { GoingOn, begins, fromServer, toServer, type Message } from "./messages";
import type { Place } from "./server";

interface Host {
  /** Of the configuration: how the server is reached, where it is not ours. */
  connect: unknown;
  version: string;
  log: vscode.LogOutputChannel;
  refused(body: Record<string, unknown> | undefined, message: string | undefined): void;
}

const OPENS_WITHIN_MS = 10_000;

export class WebSocketAdapter implements vscode.DebugAdapter {
  private readonly messages = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  readonly onDidSendMessage = this.messages.event;
  private readonly goingOn = new GoingOn();
  private over = false;

  /** Throws a ProgramError. */
  static open(place: Place, host: Host): Promise<WebSocketAdapter> {
    return new Promise((resolve, reject) => {
      const refused = (why: string) => {
        clearTimeout(late);
        reject(new ProgramError({
          type: "no-server",
          message: `Nobody answers at ${place.url}${why ? `: ${why}` : ""}`,
          hint: "On the machine of the process: hangdbg serve --listen ws:127.0.0.1:4711",
        }));
      };
      const socket = new WebSocket(place.url);
      const late = setTimeout(() => {
        socket.close();
        refused(`not within ${OPENS_WITHIN_MS / 1000} s`);
      }, OPENS_WITHIN_MS);
      socket.onopen = () => {
        clearTimeout(late);
        resolve(new WebSocketAdapter(socket, place.token, host));
      };
      socket.onerror = (event) => {
        const why = (event as unknown as { message?: unknown }).message;
        refused(typeof why === "string" ? why : "");
      };
    });
  }

  private constructor(
    private readonly socket: WebSocket,
    private readonly token: string,
    private readonly host: Host,
  ) {
    socket.onmessage = (event) => {
      this.heard(JSON.parse(String(event.data)) as Message);
    };
    socket.onclose = (event) => {
      if (!this.over) {
        this.host.log.warn(`the server has closed the session (${event.code})`);
        this.messages.fire({ type: "event", event: "terminated", seq: 0 });
      }
    };
    socket.onerror = null;
  }

  handleMessage(message: vscode.DebugProtocolMessage): void {
    this.tell(this.goingOn.asked(message));
    this.socket.send(JSON.stringify(toServer(message, this.token)));
  }

  dispose(): void {
    this.over = true;
    this.socket.close();
    this.messages.dispose();
  }

  private heard(message: Message): void {
    if (message.type === "response" && message.command === "initialize" && message.success) {
      const wrong = mismatch(spokenBy(message.body), this.host.version);
      if (wrong !== undefined) {
        message.success = false;
        message.body = { error: { id: 1, format: wrong, showUser: true } };
      }
    }
    if (message.type === "response" && !message.success && begins(message) && message.message !== "cancelled") {
      this.host.refused(message.body, message.message);
      message.body = { ...message.body, error: { ...(message.body?.["error"] as object), showUser: false } };
    }
    this.messages.fire(fromServer(message, this.host.connect));
    this.tell(this.goingOn.told(message));
  }

  private tell(messages: Message[]): void {
    for (const one of messages) {
      this.messages.fire(one);
    }
  }
}
