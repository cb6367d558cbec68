// The page of a job's merged stack, and what a click in it does.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import { jobsOf, type Attach } from "./attach";
import { showFailure } from "./dialogs";
import { extensionFile } from "./extension_itself";
import { ProgramError } from "./failure";
import type { JobItem } from "./job_view";
import { page, type MergedStack, type Said } from "./merged_stack";
import type { Program } from "./program";

export class MergedStackPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private job = "";
  private via: string | undefined;

  constructor(
    private readonly program: Program,
    private readonly attach: Attach,
  ) {}

  async show(item: JobItem | undefined): Promise<void> {
    const job = item?.kind === "job" ? item.job.job : await this.attach.pickJob();
    if (job === undefined) {
      return;
    }
    this.job = job;
    this.via = item?.kind === "job" ? item.via : undefined;
    await this.draw();
  }

  dispose(): void {
    this.panel?.dispose();
  }

  private async draw(): Promise<void> {
    const how = this.via === undefined ? ["--locals"] : ["--via", this.via];
    const read = () => this.program.json<MergedStack>(["dump", "--job", this.job, "--merge", ...how]);
    try {
      const merged = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: `Reading the ranks of ${this.job}` }, read);
      const panel = (this.panel ??= this.open());
      const media = extensionFile("media", "merged_stack.css");
      panel.title = `Merged stack of ${this.job}`;
      panel.webview.html = page(
        this.job, merged, randomBytes(16).toString("hex"),
        panel.webview.asWebviewUri(media).toString(), panel.webview.cspSource);
      panel.reveal();
    } catch (error) {
      if (!(error instanceof ProgramError)) {
        throw error;
      }
      await showFailure(error.failure, this.program.path);
    }
  }

  private open(): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel(
      "hangdbg.mergedStack", "Merged stack", vscode.ViewColumn.Active,
      { enableScripts: true, localResourceRoots: [extensionFile("media")] });
    panel.webview.onDidReceiveMessage((said: Said) => this.heard(said));
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    return panel;
  }

  private async heard(said: Said): Promise<void> {
    if ("open" in said) {
      const line = new vscode.Position(said.open.line - 1, 0);
      await vscode.window.showTextDocument(vscode.Uri.file(said.open.file), {
        viewColumn: vscode.ViewColumn.Beside, selection: new vscode.Range(line, line), preserveFocus: true,
      });
    } else if ("debug" in said && this.via !== undefined) {
      await vscode.window.showInformationMessage(
        "These ranks are on other machines: Open a Prompt in This Rank, in the view Hung Python");
    } else if ("debug" in said) {
      await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], jobsOf(this.job, said.debug));
    } else {
      await this.draw();
    }
  }
}
