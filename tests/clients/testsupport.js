// The story of tests/integration/editors/test_clients.py, told by the client that VS Code's
// own adapters are tested with (npm: @vscode/debugadapter-testsupport), under mocha.
const assert = require('assert');
const { DebugClient } = require('@vscode/debugadapter-testsupport');
const story = JSON.parse(process.env.HANGDBG_STORY);

describe('a process that hangs', function () {
  this.timeout(60000);
  const client = new DebugClient(story.program, 'dap', 'hangdbg');

  before(() => client.start(story.port));

  it('is attached to', async () => {
    const initialized = client.waitForEvent('initialized');
    const { body } = await client.initializeRequest();
    assert(body.supportsConfigurationDoneRequest && body.supportsConditionalBreakpoints);
    const attached = client.attachRequest({ processId: story.pid });
    await initialized;
    const [stopped] = await Promise.all([
      client.waitForEvent('stopped'), client.configurationDoneRequest(), attached]);
    assert.equal(stopped.body.threadId, story.thread);
    assert.match(stopped.body.description, /futex/);
  });

  it('shows a local three frames up', async () => {
    const { body } = await client.stackTraceRequest({ threadId: story.thread });
    const scopes = await client.scopesRequest({ frameId: body.stackFrames[3].id });
    const { variables } = (await client.variablesRequest(
      { variablesReference: scopes.body.scopes[0].variablesReference })).body;
    const [found] = variables.filter(({ name }) => name === story.local.name);
    assert.equal(found.value, story.local.value);
  });

  it('stops another thread at a breakpoint, steps it, lets it go', async () => {
    const source = { path: story.file };
    const stop = client.assertStoppedLocation('breakpoint',
      { path: story.file, line: story.line });
    const set = await client.setBreakpointsRequest(
      { source, breakpoints: [{ line: story.line }] });
    assert(set.body.breakpoints[0].verified);
    await stop;
    const { threads } = (await client.threadsRequest()).body;
    const [worker] = threads.filter(({ name }) => name === story.worker);
    await Promise.all([
      client.assertStoppedLocation('step', { path: story.file, line: story.nextLine }),
      client.nextRequest({ threadId: worker.id })]);
    await client.setBreakpointsRequest({ source, breakpoints: [] });
    await client.continueRequest({ threadId: worker.id });
  });

  it('is left', () => client.stop());
});
