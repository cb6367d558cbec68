// The story of tests/integration/editors/test_dap_job.py, told by the client that VS Code's own
// adapters are tested with: a session for the job, and one for each rank, which the
// adapter asks for.
const assert = require('assert');
const { DebugClient } = require('@vscode/debugadapter-testsupport');
const story = JSON.parse(process.env.HANGDBG_STORY);

// It knows no requests of an adapter.
class Editor extends DebugClient {
  dispatch(text) {
    const message = JSON.parse(text);
    if (message.type !== 'request') {
      return super.dispatch(text);
    }
    const answer = JSON.stringify({
      seq: this.sequence++, type: 'response', request_seq: message.seq,
      command: message.command, success: true });
    this.outputStream.write(
      `Content-Length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`);
    this.emit(message.command, message.arguments);
  }

  async attach(wanted) {
    await this.start();
    const initialized = this.waitForEvent('initialized');
    await this.initializeRequest({ ...editor, supportsStartDebuggingRequest: true });
    const attached = this.attachRequest(wanted);
    await initialized;
    await this.setLines(story.line);
    await Promise.all([this.configurationDoneRequest(), attached]);
  }

  setLines(...lines) {
    return this.setBreakpointsRequest(
      { source: { path: story.file }, breakpoints: lines.map(line => ({ line })) });
  }

  async value(expression) {
    const { body } = await this.stackTraceRequest({ threadId: this.thread });
    const frameId = body.stackFrames[0].id;
    return (await this.evaluateRequest({ expression, frameId })).body.result;
  }
}

const editor = {
  adapterID: 'hangdbg', linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path' };

describe('two ranks of a job', function () {
  this.timeout((story.held + 240) * 1000);
  const job = new Editor(story.program, 'dap', 'hangdbg');
  const ranks = {};
  const each = work => Promise.all(Object.values(ranks).map(work));

  it('stop at a breakpoint', async () => {
    const all = new Promise((resolve, reject) => {
      job.on('startDebugging', ({ configuration }) => {
        const { name, ...wanted } = configuration;
        const rank = ranks[name] = new Editor(story.program, 'dap', 'hangdbg');
        rank.stop_ = new Promise(done => rank.on(
          'stopped', ({ body }) => body.reason === 'breakpoint' && done(body)));
        rank.attach(wanted).catch(reject);
        if (Object.keys(ranks).length === 2) {
          resolve();
        }
      });
    });
    await job.attach({ job: story.job, ranks: story.ranks, holdFor: story.held + 30 });
    await all;
    await each(async rank => { rank.thread = (await rank.stop_).threadId; });
    assert.deepEqual(Object.keys(ranks).sort(), ['rank 1', 'rank 3']);
  });

  it('stand for longer than their timeout', async () => {
    await new Promise(resolve => setTimeout(resolve, story.held * 1000));
  });

  it('tell their locals', async () => {
    for (const [name, rank] of Object.entries(ranks)) {
      assert.equal('rank ' + await rank.value('rank'), name);
    }
  });

  it('are stepped, both at once, and let go', async () => {
    await each(rank => rank.setLines());
    await each(async rank => {
      const stepped = rank.waitForEvent('stopped');
      await rank.nextRequest({ threadId: rank.thread });
      assert.equal((await stepped).body.reason, 'step');
    });
    await each(async rank => assert(Number.isFinite(Number(await rank.value('loss')))));
    await each(rank => rank.continueRequest({ threadId: rank.thread }));
  });

  it('are left with their job', async () => {
    const ended = each(rank => rank.waitForEvent('terminated'));
    await job.stop();
    await ended;
    await each(rank => rank.stop());
  });
});
