// This extension, as VS Code knows it.
import * as vscode from "vscode";

export function extensionVersion(): string {
  return (itself().packageJSON as { version: string }).version;
}

export function extensionFile(...path: string[]): vscode.Uri {
  return vscode.Uri.joinPath(itself().extensionUri, ...path);
}

function itself(): vscode.Extension<unknown> {
  const extension = vscode.extensions.getExtension("hangdbg.hangdbg");
  if (extension === undefined) {
    throw new Error("this extension has another name now");
  }
  return extension;
}
