// A list of the Python processes of this machine: those that hang first, with what each waits for and how long.
import * as vscode from "vscode";

import { showFailure } from "./dialogs";
import { ProgramError } from "./failure";
import { doing, howLong, shortCommand, sorted, who, type Process, type Survey } from "./processes";
import type { Program } from "./program";

interface Item extends vscode.QuickPickItem {
  pid?: number;
}

/** Its number, as ${command:hangdbg.pickProcess} wants it; undefined where nothing was chosen. */
export async function pickProcess(program: Program): Promise<string | undefined> {
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = "Python processes, those that hang first";
  pick.placeholder = "Looking at each for a moment...";
  pick.busy = true;
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  const stop = new vscode.CancellationTokenSource();
  try {
    const chosen = new Promise<string | undefined>((resolve) => {
      pick.onDidAccept(() => {
        resolve(pick.selectedItems[0]?.pid?.toString());
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
    });
    pick.show();
    const survey = await Promise.race([program.json<Survey>(["ps"], stop.token), chosen]);
    if (survey === undefined || typeof survey === "string") {
      return undefined; // Escape, before there was a list
    }
    pick.items = itemsOf(survey.processes);
    pick.busy = false;
    pick.placeholder = pick.items.length > 0 ? "A process, or a part of its command" : "No Python process is here";
    return await chosen;
  } catch (error) {
    if (!(error instanceof ProgramError)) {
      throw error;
    }
    await showFailure(error.failure, program.path);
    return undefined;
  } finally {
    stop.cancel();
    stop.dispose();
    pick.dispose();
  }
}

function itemsOf(processes: readonly Process[]): Item[] {
  const items: Item[] = [];
  let last: boolean | undefined;
  for (const one of sorted(processes)) {
    if (one.stalled !== last) {
      items.push({ label: one.stalled ? "hung or blocked" : "others", kind: vscode.QuickPickItemKind.Separator });
      last = one.stalled;
    }
    items.push({
      pid: one.pid,
      label: `${one.stalled ? "$(warning)" : "$(circle-outline)"} ${one.pid}  ${shortCommand(one.cmdline)}`,
      description: [who(one), one.waiting_s === null ? "" : howLong(one.waiting_s)].filter((text) => text).join(", "),
      detail: one.error ?? (one.waits || one.state),
    });
  }
  return items;
}

/** For a list that is there already. */
export function tooltipOf(one: Process): string {
  return [`${one.pid}: ${one.cmdline.join(" ")}`, who(one), doing(one)].join("\n");
}
