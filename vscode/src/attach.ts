// Sessions that a command begins, without a launch.json.
import * as vscode from "vscode";

import { ATTACH } from "./configurations";
import { showFailure } from "./dialogs";
import { ProgramError } from "./failure";
import type { JobItem } from "./job_view";
import { pickProcess } from "./picker";
import { rankSet, type Survey } from "./processes";
import type { Program } from "./program";

export function jobsOf(job: string, ranks?: readonly number[]): vscode.DebugConfiguration {
  return {
    name: `Job ${job}`,
    type: "hangdbg",
    request: "attach",
    job,
    ...(ranks ? { ranks: rankSet(ranks) } : {}),
  };
}

export class Attach {
  constructor(private readonly program: Program) {}

  async process(): Promise<void> {
    const pid = await pickProcess(this.program);
    if (pid !== undefined) {
      await begin({ ...ATTACH, name: `Process ${pid}`, processId: pid });
    }
  }

  async job(): Promise<void> {
    const job = await this.pickJob();
    if (job !== undefined) {
      await begin(jobsOf(job));
    }
  }

  /** An entry of the view, or ranks of the picture. */
  async item(item: JobItem | undefined): Promise<void> {
    if (item === undefined) {
      await this.job();
    } else if (item.kind === "job") {
      await begin(jobsOf(item.job.job, item.ranks));
    } else if (item.kind === "rank" || item.kind === "process") {
      await begin({ ...ATTACH, name: `Process ${item.process.pid}`, processId: item.process.pid });
    }
  }

  /** The only one, or the one that is chosen. */
  async pickJob(): Promise<string | undefined> {
    try {
      const { jobs } = await this.program.json<Survey>(["ps"]);
      if (jobs.length === 0) {
        await vscode.window.showInformationMessage("No parallel job is seen on this machine");
        return undefined;
      }
      if (jobs.length === 1) {
        return jobs[0]?.job;
      }
      const chosen = await vscode.window.showQuickPick(
        jobs.map((job) => ({ label: job.job, description: `${job.kind}, ranks ${rankSet(job.ranks)}` })),
        { title: "Which job?" },
      );
      return chosen?.label;
    } catch (error) {
      if (!(error instanceof ProgramError)) {
        throw error;
      }
      await showFailure(error.failure, this.program.path);
      return undefined;
    }
  }
}

async function begin(configuration: vscode.DebugConfiguration): Promise<void> {
  await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], configuration);
}
