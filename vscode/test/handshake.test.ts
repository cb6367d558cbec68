import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { mismatch, PROTOCOL, spokenBy } from "../src/handshake";

test("the program's number is ours", () => {
  const header = readFileSync(new URL("../../protocol/version.h", import.meta.url), "utf8");
  expect(Number(/kProtocolVersion = (\d+);/.exec(header)?.[1])).toBe(PROTOCOL);
});

test("who speaks the same is not told anything", () => {
  expect(mismatch(spokenBy({ "hangdbg/version": "9.9", "hangdbg/protocol": PROTOCOL }), "0.1.0")).toBeUndefined();
});

test.each([
  [{ "hangdbg/version": "9.9", "hangdbg/protocol": PROTOCOL + 1 }, "update the extension"],
  [{ "hangdbg/version": "0.0.1", "hangdbg/protocol": PROTOCOL - 1 }, "update the program"],
  [{ supportsCancelRequest: true }, "update the program"],
  [undefined, "update the program"],
])("%j is told what to do", (capabilities, words) => {
  expect(mismatch(spokenBy(capabilities), "0.1.0")).toContain(words);
});
