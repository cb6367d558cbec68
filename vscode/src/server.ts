// A `hangdbg serve` of our own: started when a session first wants it, on a loopback port that the kernel chooses, with a
// token that nobody is told. It ends when its standard input does, so it never outlives the extension host.
import { randomBytes } from "node:crypto";
import * as readline from "node:readline";
import * as vscode from "vscode";

import { extensionVersion } from "./extension_itself";
import { ProgramError, errorOf, type Failure } from "./failure";
import { mismatch, type Spoken } from "./handshake";
import { absent, type Program } from "./program";
import type { Listening } from "./reports/serve";

export interface Place {
  /** As WebSocket takes it. */
  url: string;
  token: string;
}

/** A program that is older or newer may say neither its version nor its protocol. */
type Said = Spoken & Pick<Listening, "address"> & { error?: Failure };

const STARTS_WITHIN_MS = 10_000;

export class Server implements vscode.Disposable {
  private place: Promise<Place> | undefined;
  private end: () => void = () => undefined;

  constructor(
    private readonly program: Program,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Throws a ProgramError. */
  where(): Promise<Place> {
    this.place ??= this.start().catch((error: unknown) => {
      this.forget();
      throw error;
    });
    return this.place;
  }

  dispose(): void {
    this.end();
    this.forget();
  }

  private forget(): void {
    this.place = undefined;
  }

  private start(): Promise<Place> {
    const token = randomBytes(32).toString("hex");
    const child = this.program.start(
      ["serve", "--listen", "ws:127.0.0.1:0", "--json", "--until-eof"], { HANGDBG_TOKEN: token });
    this.end = () => child.stdin.end();
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err = (err + text).slice(-4000);
      this.log.info(text.trimEnd());
    });
    return new Promise<Place>((resolve, reject) => {
      const late = setTimeout(() => {
        child.kill();
        reject(new ProgramError(errorOf("", "hangdbg serve says nothing")));
      }, STARTS_WITHIN_MS);
      readline.createInterface(child.stdout).once("line", (line) => {
        const said = JSON.parse(line) as Said;
        if (said.error) {
          reject(new ProgramError(said.error));
          return;
        }
        const wrong = mismatch(said, extensionVersion());
        if (wrong !== undefined) {
          this.end();
          reject(new ProgramError({ type: "mismatch", message: wrong }));
        } else {
          resolve({ url: urlOf(said.address), token });
        }
      });
      child.on("error", (error) => {
        reject(new ProgramError(absent(this.program.path, error)));
      });
      child.on("close", (code) => {
        clearTimeout(late);
        this.forget(); // The next session starts another.
        reject(new ProgramError(errorOf(err, `hangdbg serve ended with ${code ?? "a signal"}`)));
      });
      child.stdout.once("data", () => {
        clearTimeout(late);
      });
    });
  }
}

/** "ws:127.0.0.1:4711" is what hangdbg says and takes. */
export function urlOf(address: string): string {
  return address.replace(/^(wss?):(?!\/\/)/, "$1://");
}
