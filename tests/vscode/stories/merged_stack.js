// Where ranks part, as a page: in each kind of theme, by the keys and by the mouse.
const { play } = require('../editor');

const THEMES = {
  'vscode-light': 'Light Modern', 'vscode-dark': 'Dark Modern',
  'vscode-high-contrast': 'Default High Contrast' };
const LEAST_CONTRAST = 4.5; // WCAG 2.1, level AA

play(async (editor, story) => {
  await editor.unfold('Hung Python');
  const job = editor.listedRow(story.job, 'torch');
  await editor.collapseAll('Hung Python'); // other tests may have jobs here, too
  await job.hover();
  await job.locator('[aria-label*="Show the Merged Stack"]').click();
  const page = editor.webview();
  await page.locator('.odd li', { hasText: /^2: .*load/ }).first().waitFor();
  await page.locator('.is-odd .who', { hasText: '[2]' }).waitFor();
  for (const [kind, theme] of Object.entries(THEMES)) {
    await editor.theme(theme);
    await page.locator(`body.${kind}`).waitFor();
    const pale = await page.locator('body').evaluate(paleTexts, LEAST_CONTRAST);
    if (pale.length) {
      throw new Error(`hard to read in ${theme}: ${pale.join(', ')}`);
    }
    await editor.picture(kind);
  }

  const branch = page.locator('.is-odd');
  const frame = branch.locator('a', { hasText: 'load' });
  await page.locator('[tabindex="0"]').focus();
  await down(editor, frame);
  await editor.press('ArrowLeft'); // to the branch
  await editor.press('ArrowLeft');
  await frame.waitFor({ state: 'hidden' });
  await editor.press('ArrowRight');
  await frame.waitFor();
  await down(editor, frame);
  await editor.press('Enter');
  await editor.page.locator('.tab.active', { hasText: 'parted.py' }).waitFor();
  await editor.page.locator('.active-line-number', { hasText: String(story.line) }).waitFor();
  await editor.picture('opened');

  await page.locator('[data-debug="0,1,3"]').click();
  await editor.fold('Watch', 'Breakpoints', 'Hung Python');
  for (const rank of [0, 1, 3]) {
    await editor.inStack(`rank ${rank}`, 'futex').waitFor();
  }
  if (await editor.inStack('rank 2').count()) {
    throw new Error('rank 2 was not asked for');
  }
  await editor.picture('debugged');
  await editor.command('Hangdbg: Detach from Everything');
  await editor.ended();
});

// By the key, until that line has the focus.
async function down(editor, line) {
  for (let pressed = 0; pressed < 20; pressed++) {
    if (await line.evaluate(element => element === document.activeElement)) {
      return;
    }
    await editor.press('ArrowDown');
  }
  throw new Error('the keys do not lead there');
}

// In the page: texts whose contrast to what is behind them is less.
function paleTexts(body, least) {
  const numbers = colour => colour.match(/[\d.]+/g).map(Number);
  const light = ([red, green, blue]) => [red, green, blue]
    .map(part => part / 255)
    .map(part => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const probe = body.appendChild(document.createElement('i'));
  probe.style.color = 'var(--vscode-editor-background)';
  const page = numbers(getComputedStyle(probe).color);
  probe.remove();
  const behind = element => {
    if (!element) {
      return page;
    }
    const [red, green, blue, cover = 1] = numbers(getComputedStyle(element).backgroundColor);
    const below = cover < 1 ? behind(element.parentElement) : page;
    return [red, green, blue].map((part, index) => cover * part + (1 - cover) * below[index]);
  };
  const contrast = element => {
    const [low, high] = [numbers(getComputedStyle(element).color), behind(element)]
      .map(light).sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  };
  return [...body.querySelectorAll('h1, li, b, .who, .label, a, .where, button, th, code')]
    .filter(one => one.offsetParent && contrast(one) < least)
    .map(one => `${one.textContent} (${contrast(one).toFixed(1)})`);
}
