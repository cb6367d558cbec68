// From a session to the server that serves it: ours, or the one of `connect`. A descriptor is returned once the socket is
// open: VS Code would wait for ever for one that never opens.
import * as vscode from "vscode";

import { showFailure } from "./dialogs";
import { extensionVersion } from "./extension_itself";
import { failureOf } from "./failure";
import type { Program } from "./program";
import { urlOf, type Place, type Server } from "./server";
import { WebSocketAdapter } from "./websocket_adapter";

export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  constructor(
    private readonly program: Program,
    private readonly server: Server,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Throws a ProgramError, which VS Code shows. */
  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const place = connectOf(session.configuration) ?? (await this.server.where());
    const adapter = await WebSocketAdapter.open(place, {
      connect: session.configuration["connect"],
      version: extensionVersion(),
      log: this.log,
      // A dialog of ours has a button with what mends it.
      refused: (body, message) => {
        const pid = Number(session.configuration["processId"]) || undefined;
        void showFailure(failureOf(body, message), this.program.path, pid);
      },
    });
    return new vscode.DebugAdapterInlineImplementation(adapter);
  }
}

export function connectOf(configuration: vscode.DebugConfiguration): Place | undefined {
  const connect = configuration["connect"] as { address?: unknown; token?: unknown } | undefined;
  if (typeof connect?.address !== "string") {
    return undefined;
  }
  return { url: urlOf(connect.address), token: typeof connect.token === "string" ? connect.token : "" };
}
