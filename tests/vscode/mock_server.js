// A debug adapter that does nothing, at once: as many ranks as are asked for stand in one
// frame. What VS Code takes for them is what hangdbg cannot be faster than (bench/vscode).
//
//   mock_server.js RANKS FILE   prints its address, and ends with its standard input
const path = require('path');
const { WebSocketServer } = require('ws');

const ranks = Number(process.argv[2]);
const source = { name: path.basename(process.argv[3]), path: process.argv[3] };
const sessions = [];
const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () =>
  console.log(`ws:127.0.0.1:${server.address().port}`));
server.on('connection', socket => new Session(socket));
process.stdin.resume().on('end', () => process.exit());

class Session {
  constructor(socket) {
    this.socket = socket;
    this.seq = 0;
    sessions.push(this);
    socket.on('message', data => this.heard(JSON.parse(data)));
  }

  heard(message) {
    if (message.type === 'request') {
      const body = ANSWERS[message.command]?.call(this, message.arguments ?? {}) ?? {};
      this.say({ type: 'response', request_seq: message.seq, command: message.command,
        success: true, body });
      NEXT[message.command]?.call(this);
    }
  }

  say(message) {
    this.socket.send(JSON.stringify({ seq: ++this.seq, ...message }));
  }

  event(event, body = {}) {
    this.say({ type: 'event', event, body });
  }
}

const ANSWERS = {
  initialize: () => ({ supportsConfigurationDoneRequest: true, 'hangdbg/protocol': 1 }),
  attach(configuration) {
    this.rank = configuration.rank;
  },
  threads() {
    return { threads: this.rank === undefined ? [] : [{ id: 1, name: 'MainThread' }] };
  },
  stackTrace: ({ startFrame = 0, levels = 5 }) => ({
    totalFrames: 5,
    stackFrames: [1, 2, 3, 4, 5].slice(startFrame, startFrame + (levels || 5)).map(id => (
      { id, name: `frame_${id}`, line: id, column: 0, source })) }),
  scopes: () => ({ scopes: [{ name: 'Locals', variablesReference: 1, expensive: false }] }),
  variables: () => ({ variables: [{ name: 'answer', value: '41', variablesReference: 0 }] }),
};

// After the answer.
const NEXT = {
  attach() {
    this.event('initialized');
  },
  configurationDone() {
    if (this.rank !== undefined) {
      this.event('stopped', { reason: 'entry', threadId: 1, description: 'futex' });
      return;
    }
    for (let rank = 0; rank < ranks; rank++) {
      this.say({ type: 'request', command: 'startDebugging', arguments: {
        request: 'attach', configuration: { name: `rank ${rank}`, processId: 1, rank } } });
    }
  },
  disconnect() {
    for (const one of this.rank === undefined ? sessions : [this]) {
      one.event('terminated');
    }
  },
};
