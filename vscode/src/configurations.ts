// Debug configurations: those that are offered without a launch.json, and what is wrong with one that is there.
import * as vscode from "vscode";

import { connectOf } from "./adapter_factory";
import { jobsOf } from "./attach";
import { showFailure } from "./dialogs";
import { ProgramError } from "./failure";
import type { JobView } from "./job_view";
import { doing, shortCommand, sorted, type Survey } from "./processes";
import type { Program } from "./program";
import type { Server } from "./server";

const MOST_OFFERED = 10;

export const ATTACH: vscode.DebugConfiguration = {
  name: "Attach to a hung Python process",
  type: "hangdbg",
  request: "attach",
  processId: "${command:hangdbg.pickProcess}",
};

export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly program: Program,
    private readonly server: Server,
    private readonly jobs: JobView,
  ) {}

  /** For a new launch.json. */
  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    return [ATTACH];
  }

  /** F5 with no configuration at all is one. */
  resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): vscode.DebugConfiguration | undefined {
    if (!configuration.type && !configuration.request) {
      return { ...ATTACH };
    }
    return configuration;
  }

  /** After ${command:...} has become a number, or nothing. */
  async resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const wrong = wrongWith(configuration);
    if (wrong !== undefined) {
      await vscode.window.showErrorMessage(wrong, { modal: true });
      return undefined;
    }
    if (typeof configuration.via === "string" && configuration.via !== "") {
      await this.jobs.showNodes(configuration.via); // in place of a session
      return undefined;
    }
    try {
      if (connectOf(configuration) === undefined) {
        await this.server.where(); // Here a dialog can have a button.
      }
      return configuration;
    } catch (error) {
      if (!(error instanceof ProgramError)) {
        throw error;
      }
      await showFailure(error.failure, this.program.path);
      return undefined;
    }
  }
}

/** In the list beside the button: what hangs now; VS Code asks for each folder and shows the sum. */
export class OfferedConfigurations implements vscode.DebugConfigurationProvider {
  constructor(private readonly program: Program) {}

  async provideDebugConfigurations(
    folder: vscode.WorkspaceFolder | undefined,
    token?: vscode.CancellationToken,
  ): Promise<vscode.DebugConfiguration[]> {
    if (folder?.uri.toString() !== vscode.workspace.workspaceFolders?.[0]?.uri.toString()) {
      return [];
    }
    const offered = [ATTACH];
    try {
      const survey = await this.program.json<Survey>(["ps"], token);
      for (const job of survey.jobs) {
        offered.push({ ...jobsOf(job.job), name: `All ranks of ${job.job}` });
      }
      for (const one of sorted(survey.processes).filter((process) => process.stalled).slice(0, MOST_OFFERED)) {
        offered.push({
          name: `${one.pid} ${shortCommand(one.cmdline)}: ${doing(one)}`,
          type: "hangdbg",
          request: "attach",
          processId: one.pid,
        });
      }
    } catch (error) {
      if (!(error instanceof ProgramError)) {
        throw error;
      }
    }
    return offered;
  }
}

export function wrongWith(configuration: vscode.DebugConfiguration): string | undefined {
  const has = (name: string) => configuration[name] !== undefined && configuration[name] !== "";
  if (has("via") && (configuration.request === "launch" || has("processId"))) {
    return "The configuration has a via: it shows the jobs of these nodes, and wants request attach without processId";
  }
  if (has("via")) {
    return undefined;
  }
  if (configuration.request === "launch") {
    return has("program") || has("module") ? undefined : "The configuration wants a program, or a module";
  }
  if (has("processId") && has("job")) {
    return "The configuration has a processId and a job: it wants one of them";
  }
  if (!has("processId") && !has("job")) {
    return "The configuration wants a processId (${command:hangdbg.pickProcess} asks), or a job";
  }
  return undefined;
}
