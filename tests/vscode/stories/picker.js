// The list has those that hang first, with their ranks, what they wait for and how long.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.command('Hangdbg: Attach to a Hung Python Process');
  await editor.page.locator('.quick-input-widget', { hasText: 'those that hang first' }).waitFor();
  await editor.page.locator('.quick-input-box input').fill(story.job);
  for (const [rank, pid] of story.hung.entries()) {
    await editor.row('.quick-input-list', [pid, `rank ${rank}`, 'futex', /\d (ms|s|min)/]).waitFor();
  }
  await editor.quick(story.busy).waitFor();
  await editor.picture('listed');
  const rows = await editor.page.locator('.quick-input-list .monaco-list-row').allInnerTexts();
  const at = pid => rows.findIndex(text => text.includes(pid));
  const order = [...story.hung, story.busy].map(at);
  if (order.includes(-1) || order.some((place, index) => place < order[index - 1])) {
    throw new Error(`the order is ${order} of ${JSON.stringify(rows)}`);
  }
  await editor.press('Escape');
});
