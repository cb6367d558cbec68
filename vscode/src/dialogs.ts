// A failure as a dialog: the cause, and a button with what mends it.
import * as vscode from "vscode";

import { mendOf, textOf, type Failure } from "./failure";

export async function showFailure(failure: Failure, program: string, pid?: number): Promise<void> {
  const mend = mendOf(failure, pid);
  const chosen = await vscode.window.showErrorMessage(
    failure.message,
    { modal: true, detail: failure.hint ?? "" },
    ...(mend ? [mend.label] : []),
  );
  if (chosen === undefined || mend === undefined) {
    return;
  }
  if (mend.setting !== undefined) {
    // The program's path is of the machine that it is on.
    const settings = vscode.env.remoteName === undefined ? "openSettings" : "openRemoteSettings";
    await vscode.commands.executeCommand(`workbench.action.${settings}`, { query: mend.setting });
  } else if (mend.command !== undefined) {
    await vscode.env.clipboard.writeText(mend.command.replace(/\bhangdbg\b/, program));
    await vscode.window.showInformationMessage(`Copied: ${mend.command}`, textOf(failure));
  }
}
