// The program `hangdbg` beside us: where it is, and what it answers as JSON.
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import * as vscode from "vscode";

import { ProgramError, errorOf, type Failure } from "./failure";

const LONGEST_MS = 30_000;

export class Program {
  constructor(private readonly log: vscode.LogOutputChannel) {}

  get path(): string {
    return settings().get<string>("path", "").trim() || "hangdbg";
  }

  /** Runs it to its end. Throws a ProgramError, also where it fails by itself: `dump` of a job of which one rank cannot
   * be read has an answer nevertheless, which is returned. */
  async json<T>(words: string[], token?: vscode.CancellationToken): Promise<T> {
    const { code, out, err } = await this.run([...words, "--json"], token);
    const answer = parsed(out) as (T & { error?: Failure }) | undefined;
    if (answer === undefined || (answer.error && Object.keys(answer).length === 1)) {
      throw new ProgramError(answer?.error ?? errorOf(err, `hangdbg ended with ${code}`));
    }
    return answer;
  }

  /** One that goes on; its standard input is a pipe that ends with us. */
  start(words: string[], environment: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams {
    const log = settings().get<string>("log", "").trim();
    const flags = log ? ["--log", log] : [];
    this.log.info([this.path, ...words, ...flags].join(" "));
    return spawn(this.path, [...words, ...flags], { env: { ...process.env, ...environment } });
  }

  private run(words: string[], token?: vscode.CancellationToken) {
    return new Promise<{ code: number; out: string; err: string }>((resolve, reject) => {
      this.log.debug([this.path, ...words].join(" "));
      const child = spawn(this.path, words, { stdio: ["ignore", "pipe", "pipe"], timeout: LONGEST_MS });
      let out = "";
      let err = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
      token?.onCancellationRequested(() => child.kill("SIGINT"));
      child.on("error", (error) => {
        reject(new ProgramError(absent(this.path, error)));
      });
      child.on("close", (code) => {
        resolve({ code: code ?? 130, out, err });
      });
    });
  }
}

export function absent(path: string, error: NodeJS.ErrnoException): Failure {
  const missing = error.code === "ENOENT";
  return {
    type: missing ? "no-program" : "program",
    message: missing ? `There is no program ${path} here` : `${path} cannot be run: ${error.message}`,
    hint: "The setting hangdbg.path says where it is",
  };
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("hangdbg");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
