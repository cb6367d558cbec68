import { expect, test } from "vitest";

import { errorOf, mendOf, textOf } from "../src/failure";

test("the cause is the first line, hints come after it", () => {
  const failure = errorOf("hangdbg: process 7 is not Python\nhangdbg ps shows those that are\n", "");
  expect(failure).toMatchObject({ message: "process 7 is not Python", hint: "hangdbg ps shows those that are" });
  expect(textOf(failure)).toBe("process 7 is not Python\nhangdbg ps shows those that are");
});

test("where nothing was said, how it ended is", () => {
  expect(errorOf("", "hangdbg ended with 3")).toMatchObject({ message: "hangdbg ended with 3", hint: null });
});

test.each([
  ["no-program", "There is no program", "hangdbg.path", undefined],
  ["yama", "kernel.yama.ptrace_scope is 1", undefined, "sudo sysctl kernel.yama.ptrace_scope=0"],
  ["not-permitted", "it is of another user", undefined, "sudo hangdbg doctor 7"],
])("%s has a button", (type, message, setting, command) => {
  const mend = mendOf({ type, message }, 7);
  expect(mend?.setting).toBe(setting);
  expect(mend?.command).toBe(command);
});

test("what nothing mends has none", () => {
  expect(mendOf({ type: "not-python", message: "process 7 is not Python" })).toBeUndefined();
});
