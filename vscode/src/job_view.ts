// The view "Hung Python": jobs with their ranks, then processes of none, each with what it waits for.
import * as vscode from "vscode";

import { ProgramError } from "./failure";
import { joined, promptWords, type NodesAnswer, type NodesSurvey } from "./nodes";
import { tooltipOf } from "./picker";
import { doing, howLong, rankSet, ranksOf, shortCommand, sorted, type Job, type Process, type Survey } from "./processes";
import type { Program } from "./program";

export type JobItem =
  | { kind: "job"; job: Job; ranks?: number[]; via?: string | undefined }
  | { kind: "rank"; process: Process }
  | { kind: "process"; process: Process }
  | { kind: "missing"; rank: number; job: string }
  | { kind: "failure"; text: string };

export class JobView implements vscode.TreeDataProvider<JobItem>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private survey: NodesSurvey = { processes: [], jobs: [], failed: [] };
  private via: string | undefined; // the nodes that are shown; none: this machine

  constructor(private readonly program: Program) {}

  refresh(): void {
    this.changed.fire(undefined);
  }

  /** From now on jobs of these nodes, as --via takes them; none: of this machine. */
  async showNodes(via: string | undefined): Promise<void> {
    this.via = via;
    this.refresh();
    await vscode.commands.executeCommand("hangdbg.jobs.focus");
  }

  /** A rank on another node: a prompt in a terminal. */
  openPrompt(item: JobItem | undefined): void {
    if (item?.kind === "rank" && this.via !== undefined && item.process.job !== null && item.process.rank !== null) {
      vscode.window.createTerminal({
        name: `rank ${item.process.rank} on ${item.process.node ?? "?"}`,
        shellPath: this.program.path,
        shellArgs: promptWords(this.via, item.process.job, item.process.rank),
      }).show();
    }
  }

  dispose(): void {
    this.changed.dispose();
  }

  async getChildren(item?: JobItem): Promise<JobItem[]> {
    if (item === undefined) {
      return this.roots();
    }
    if (item.kind !== "job") {
      return [];
    }
    return [
      ...ranksOf(this.survey, item.job.job).map((process): JobItem => ({ kind: "rank", process })),
      ...item.job.missing.map((rank): JobItem => ({ kind: "missing", rank, job: item.job.job })),
    ];
  }

  getTreeItem(item: JobItem): vscode.TreeItem {
    switch (item.kind) {
      case "job":
        return this.jobItem(item.job);
      case "rank":
      case "process":
        return processItem(item.process, item.kind);
      case "missing":
        return labelled(`rank ${item.rank}`, "missing: it was to be here", "error");
      case "failure":
        return labelled(item.text, "", "error");
    }
  }

  private async roots(): Promise<JobItem[]> {
    try {
      this.survey = await this.read();
    } catch (error) {
      if (!(error instanceof ProgramError)) {
        throw error;
      }
      return [{ kind: "failure", text: error.failure.message }];
    }
    const { via } = this;
    return [
      ...this.survey.failed.map((text): JobItem => ({ kind: "failure", text })),
      ...this.survey.jobs.map((job): JobItem => ({ kind: "job", job, via })),
      ...sorted(this.survey.processes)
        .filter((process) => process.job === null)
        .map((process): JobItem => ({ kind: "process", process })),
    ];
  }

  private async read(): Promise<NodesSurvey> {
    return this.via === undefined
      ? { ...(await this.program.json<Survey>(["ps"])), failed: [] }
      : joined(await this.program.json<NodesAnswer>(["ps", "--via", this.via]));
  }

  private jobItem(job: Job): vscode.TreeItem {
    const hung = ranksOf(this.survey, job.job).filter((rank) => rank.stalled);
    const item = new vscode.TreeItem(job.job, vscode.TreeItemCollapsibleState.Expanded);
    const missing = job.missing.length > 0 ? `, missing ${rankSet(job.missing)}` : "";
    item.description = `${job.kind}, ${hung.length} of ${job.ranks.length} hung or blocked${missing}`;
    item.iconPath = icon(hung.length > 0 || missing ? "warning" : "pass");
    item.contextValue = this.via === undefined ? "job" : "nodesJob";
    return item;
  }
}

function processItem(one: Process, kind: string): vscode.TreeItem {
  const label = kind === "rank" ? `rank ${one.rank ?? "?"}` : `${one.pid} ${shortCommand(one.cmdline)}`;
  const time = one.stalled && one.waiting_s !== null ? `${howLong(one.waiting_s)} ` : "";
  const where = one.node === undefined ? "" : `${one.node}: `;
  const item = labelled(label, `${where}${time}${one.error ?? (one.waits || one.state)}`, one.stalled ? "warning" : "pass");
  item.tooltip = tooltipOf(one);
  item.contextValue = one.node === undefined ? kind : kind === "rank" ? "nodesRank" : "nodesProcess";
  item.accessibilityInformation = { label: `${label}, ${one.state}, ${doing(one)}` };
  return item;
}

function labelled(label: string, description: string, name: string): vscode.TreeItem {
  const item = new vscode.TreeItem(label);
  item.description = description;
  item.iconPath = icon(name);
  return item;
}

function icon(name: string): vscode.ThemeIcon {
  const colours: Record<string, string> = { warning: "list.warningForeground", error: "list.errorForeground" };
  const colour = colours[name];
  return new vscode.ThemeIcon(name, colour === undefined ? undefined : new vscode.ThemeColor(colour));
}
