// What VS Code calls when the extension is first wanted: everything is put together here.
import * as vscode from "vscode";

import { AdapterFactory } from "./adapter_factory";
import { Attach } from "./attach";
import { ConfigurationProvider, OfferedConfigurations } from "./configurations";
import { JobView } from "./job_view";
import { MergedStackPanel } from "./merged_stack_panel";
import { pickProcess } from "./picker";
import { Program } from "./program";
import { Server } from "./server";
import { Sessions } from "./sessions";
import { ThreadCommands } from "./thread_commands";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("hangdbg", { log: true });
  const program = new Program(log);
  const server = new Server(program, log);
  const sessions = new Sessions();
  const attach = new Attach(program);
  const jobs = new JobView(program);
  const configurations = new ConfigurationProvider(program, server, jobs);
  const merged = new MergedStackPanel(program, attach);
  const threads = new ThreadCommands(sessions);

  const command = (name: string, run: (...words: never[]) => unknown) =>
    vscode.commands.registerCommand(`hangdbg.${name}`, run);
  context.subscriptions.push(
    log,
    server,
    sessions,
    jobs,
    merged,
    vscode.debug.registerDebugAdapterDescriptorFactory(
      "hangdbg", new AdapterFactory(program, server, log)),
    vscode.debug.registerDebugConfigurationProvider("hangdbg", configurations),
    vscode.debug.registerDebugConfigurationProvider(
      "hangdbg", new OfferedConfigurations(program), vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.window.createTreeView("hangdbg.jobs", { treeDataProvider: jobs, showCollapseAll: true }),
    command("pickProcess", () => pickProcess(program)),
    command("attach", () => attach.process()),
    command("attachJob", () => attach.job()),
    command("debugRanks", (item) => attach.item(item)),
    command("showMergedStack", (item) => merged.show(item)),
    command("showThisMachine", () => jobs.showNodes(undefined)),
    command("openPrompt", (item) => {
      jobs.openPrompt(item);
    }),
    command("refreshJobs", () => {
      jobs.refresh();
    }),
    command("detachAll", () => sessions.detachAll()),
    command("hold", (...where) => threads.hold(where)),
    command("release", (...where) => threads.release(where)),
    command("raise", (...where) => threads.raise(where)),
  );
}
