// VS Code with our extension, in a browser, as a person uses it: by the palette, the keys
// and what is seen. scripts/get-vscode gets it; tests/integration/editors/test_vscode.py says, in
// HANGDBG_STORY, where all is and what the story is about.
//
// Nothing here sleeps: each step waits for what it needs to be seen. All that is started
// ends with this process, however it ends.
const { execFile, spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const readline = require('readline');
const { promisify } = require('util');
const { chromium } = require('playwright-core');

const PATIENCE = 180000; // milliseconds; VS Code takes its time on a busy machine

// Plays a story, `async (editor, story) => ...`, in an editor of its own.
async function play(tell) {
  const story = JSON.parse(process.env.HANGDBG_STORY);
  const editor = new Editor(story);
  try {
    await editor.open();
    await tell(editor, story);
    console.log('played to its end');
  } catch (error) {
    await editor.picture('failed').catch(() => {});
    console.log(error.stack, '\n' + editor.told().join('\n'));
    process.exitCode = 1;
  } finally {
    await editor.close();
  }
}

class Editor {
  constructor(story) {
    this.story = story;
    this.errors = []; // of the page
    this.pictures = 0;
    fs.rmSync(story.pictures, { recursive: true, force: true });
    fs.mkdirSync(story.pictures, { recursive: true });
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), 'code-'));
    this.workspace = path.join(this.home, 'work');
  }

  // ---- the beginning and the end

  async open() {
    // A program's path is of the machine that it is on.
    this.write('user/Machine/settings.json', { 'hangdbg.path': this.story.program });
    this.write('user/User/settings.json', {
      'workbench.startupEditor': 'none', 'workbench.secondarySideBar.defaultVisibility': 'hidden',
      'telemetry.telemetryLevel': 'off', 'chat.disableAIFeatures': true,
      'extensions.autoCheckUpdates': false, 'git.enabled': false,
      'remote.autoForwardPorts': false });
    this.write('work/.vscode/launch.json', {
      version: '0.2.0', configurations: this.story.configurations || [] });
    await promisify(execFile)(...this.code('--install-extension', this.story.extension));
    this.browser = await this.launch();
    this.page = await this.browser.newPage({
      viewport: { width: 1500, height: this.story.height || 1000 } });
    this.page.setDefaultTimeout(PATIENCE);
    this.page.on('console', message =>
      message.type() === 'error' && this.errors.push(message.text()));
    await this.page.goto(`${await this.serve()}?folder=${this.workspace}`);
    await this.page.locator('.statusbar').waitFor();
    await this.command('View: Show Run and Debug');
    await this.widen(150);
  }

  async close() {
    await this.browser?.close();
    this.server?.kill('SIGKILL');
    fs.rmSync(this.home, { recursive: true, force: true, maxRetries: 10 });
  }

  // What the page complains of, and what the extension has logged.
  told() {
    const logs = fs.readdirSync(this.home, { recursive: true })
      .filter(name => path.basename(name) === 'hangdbg.log')
      .map(name => fs.readFileSync(path.join(this.home, name), 'utf8'));
    return [...this.errors, ...logs];
  }

  write(name, value) {
    const file = path.join(this.home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, JSON.stringify(value, null, 2));
  }

  // On a full machine a browser may crash as it begins, which says nothing of us.
  async launch(tries = 3) {
    try {
      return await chromium.launch({
        executablePath: this.story.browser, args: CHROMIUM, timeout: PATIENCE });
    } catch (error) {
      if (tries === 1) {
        throw error;
      }
      console.log(error.message);
      return this.launch(tries - 1);
    }
  }

  // Its address.
  async serve() {
    this.server = spawn(...this.code(
      '--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry',
      '--disable-update-check', '--disable-workspace-trust'),
    { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of readline.createInterface(this.server.stdout)) {
      const [, address] = /listening on (http:\S+)/.exec(line) || [];
      if (address) {
        this.server.stdout.resume();
        return address;
      }
    }
    throw new Error('code-server has ended');
  }

  // The command line of code-server; the kernel ends it when we are gone.
  code(...words) {
    return ['setpriv', ['--pdeathsig', 'KILL', process.execPath,
      require.resolve('code-server'), '--config', path.join(this.home, 'config.yaml'),
      '--user-data-dir', path.join(this.home, 'user'),
      '--extensions-dir', path.join(this.home, 'extensions'), ...words]];
  }

  // ---- what a person does

  // By its title in the palette.
  command(title) {
    return this.choose('F1', '>' + title, title);
  }

  // What is listed in the box that this key opens, for this text. The box lists what is
  // known when it is opened, and closes when something else takes the focus: so it is
  // opened again while extensions are read, and is given longer each time.
  async choose(key, text, title) {
    const end = Date.now() + PATIENCE;
    for (let timeout = 3000; ; timeout *= 2) {
      try {
        await this.press(key);
        await this.page.locator('.quick-input-box input').fill(text, { timeout });
        return await this.quick(title).click({ timeout });
      } catch (error) {
        if (Date.now() > end) {
          throw new Error(`not listed for "${text}": ${title}\n${error.message}`);
        }
        await this.press('Escape');
      }
    }
  }

  // Of a quick pick, by some of its text.
  async pick(text) {
    await this.quick(text).waitFor();
    await this.picture('picking');
    await this.quick(text).click();
  }

  quick(text) {
    return this.row('.quick-input-list', [text]);
  }

  async theme(name) {
    await this.command('Preferences: Color Theme');
    await this.page.locator('.quick-input-box input').fill(name);
    await this.quick(name).click();
  }

  // A configuration of launch.json.
  async start(name) {
    await this.command('Debug: Select and Start Debugging');
    await this.quick(name).click();
  }

  async goTo(file, line) {
    await this.choose('Control+P', `${file}:${line}`, path.basename(file));
    await this.page.locator('.active-line-number', { hasText: exact(line) }).waitFor();
  }

  // On the line that goTo went to: it comes, or goes. A key that comes before the editor has
  // the focus is lost, and then the program would not stop.
  async toggleBreakpoint() {
    await this.page.locator('.monaco-editor.focused .active-line-number').waitFor();
    const mark = this.page.locator('.monaco-editor .glyph-margin-widgets ' +
      '[class*="codicon-debug-breakpoint"]:not(.codicon-debug-breakpoint-hint)').first();
    const was = await mark.isVisible();
    await this.press('F9');
    await mark.waitFor({ state: was ? 'hidden' : 'visible' });
  }

  // In the debug console; the answer comes to `said`.
  async ask(expression) {
    await this.command('Debug Console: Focus on Debug Console View');
    await this.page.locator('.repl-input-wrapper .monaco-editor.focused').waitFor();
    await this.page.keyboard.insertText(expression);
    await this.press('Enter');
  }

  // Of a row, by the menu that the right button opens.
  async menu(row, title) {
    await row.click({ button: 'right' });
    const item = this.page.locator('.monaco-menu').getByText(title, { exact: true });
    // A menu that has just come up takes no click for a tenth of a second.
    do {
      await item.click();
    } while (!await item.waitFor({ state: 'hidden', timeout: 1000 }).then(() => true, () => false));
  }

  // The side bar, by so many pixels.
  async widen(pixels) {
    const { x, y, width } = await this.page.locator('.part.sidebar').boundingBox();
    const { mouse } = this.page;
    await mouse.move(x + width, y + 100);
    await mouse.down();
    await mouse.move(x + width + pixels, y + 100, { steps: 5 });
    await mouse.up();
  }

  // Rows that are not in view are not there at all: the call stack needs the room.
  async fold(...views) {
    for (const view of views) {
      await this.page.locator('.pane-header.expanded', { hasText: view }).click();
    }
  }

  unfold(view) {
    return this.page.locator('.pane-header:not(.expanded)', { hasText: view }).click();
  }

  // Its rows, once there are any; the button is there while the mouse is.
  async collapseAll(view) {
    const header = this.page.locator('.pane-header', { hasText: view });
    await this.page.locator('.customview-tree .monaco-list-row').first().waitFor();
    await header.hover();
    await header.locator('[aria-label*="Collapse All"]').click();
  }

  press(keys) {
    return this.page.keyboard.press(keys);
  }

  // ---- what a person sees: rows that have all these texts, to be waited for

  // A session, a thread or a frame; with its badge.
  inStack(...texts) {
    return this.row('.debug-call-stack', texts);
  }

  // Of the only thread there is: it has no row.
  state(text) {
    return this.page.locator('.pane-header', { hasText: 'Call Stack' }).getByText(text);
  }

  variable(...texts) {
    return this.row('.debug-variables', texts);
  }

  // In the debug console.
  said(...texts) {
    return this.row('.repl-tree', texts);
  }

  // In the view "Hung Python".
  listedRow(...texts) {
    return this.row('.customview-tree', texts);
  }

  // The page of an extension.
  webview() {
    return this.page.frameLocator('iframe.webview').frameLocator('#active-frame');
  }

  row(view, texts) {
    return texts.reduce((rows, text) => rows.filter({ hasText: exact(text) }),
      this.page.locator(view + ' .monaco-list-row')).first();
  }

  dialog(text) {
    return this.page.locator('.monaco-dialog-box', { hasText: text });
  }

  notification(text) {
    return this.page.locator('.notification-toast', { hasText: text }).first();
  }

  // All sessions.
  ended() {
    return this.page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
  }

  // NUMBER-NAME.png, in a folder of the story's.
  async picture(name) {
    await this.page.screenshot({
      path: path.join(this.story.pictures, `${++this.pictures}-${name}.png`) });
  }
}

// 44 is no part of 144.
function exact(text) {
  return typeof text === 'number' ? new RegExp(`(?<!\\d)${text}(?!\\d)`) : text;
}

const CHROMIUM = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

module.exports = { play };
