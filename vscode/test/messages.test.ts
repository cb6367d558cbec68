import { expect, test } from "vitest";

import { GoingOn, fromServer, toServer } from "../src/messages";

const CONNECT = { address: "ws:10.0.0.7:4711", token: "t" };

test("the server is told the token, and not how it is reached", () => {
  const attach = { type: "request" as const, command: "attach", arguments: { processId: 7, connect: CONNECT } };
  expect(toServer(attach, "t").arguments).toEqual({ processId: 7, token: "t" });
  expect(toServer(attach, "").arguments).toEqual({ processId: 7 });
});

test("what begins no session goes on as it is", () => {
  const next = { type: "request" as const, command: "next", arguments: { threadId: 1 } };
  expect(toServer(next, "t")).toBe(next);
  expect(fromServer(next, CONNECT)).toBe(next);
});

test("a rank's session is at the server of its job", () => {
  const ask = {
    type: "request" as const, command: "startDebugging",
    arguments: { request: "attach", configuration: { name: "rank 1", processId: 8 } },
  };
  expect(fromServer(ask, CONNECT).arguments).toEqual({
    request: "attach", configuration: { name: "rank 1", processId: 8, connect: CONNECT },
  });
  expect(fromServer(ask, undefined)).toBe(ask);
});

const stopped = (threadId: number) => ({ type: "event" as const, event: "stopped", body: { threadId } });
const request = (command: string, threadId: number, seq: number) => ({
  type: "request" as const, command, seq, arguments: { threadId },
});
const response = (command: string, request_seq: number, success = true) => ({
  type: "response" as const, command, request_seq, success,
});
const GOES_ON = { type: "event", event: "continued", body: { threadId: 1, allThreadsContinued: false } };

test("a thread that is shown and then held has gone on before", () => {
  const goingOn = new GoingOn();
  expect(goingOn.asked(request("pause", 1, 5))).toEqual([]);
  goingOn.told(stopped(1));
  goingOn.told(stopped(2));
  expect(goingOn.asked(request("stackTrace", 1, 6))).toEqual([]);
  expect(goingOn.asked(request("pause", 1, 7))).toEqual([GOES_ON]);
  expect(goingOn.asked(request("pause", 1, 8))).toEqual([]);
});

test("what is released goes on, once that is done", () => {
  const goingOn = new GoingOn();
  goingOn.told(stopped(1));
  expect(goingOn.asked(request("continue", 1, 5))).toEqual([]);
  expect(goingOn.told(response("threads", 4))).toEqual([]);
  expect(goingOn.told(response("continue", 5))).toEqual([GOES_ON]);
  expect(goingOn.asked(request("pause", 1, 6))).toEqual([]);
  goingOn.asked(request("continue", 1, 7));
  expect(goingOn.told(response("continue", 7, false))).toEqual([]);
});
