// One thread of several is held and released, by its menu; the palette says which it means.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.start('as configured');
  await editor.fold('Watch', 'Breakpoints');
  const worker = editor.inStack(story.worker);
  await editor.inStack('wait_for_lock').waitFor();
  await editor.menu(worker, 'Hold This Thread');
  await editor.inStack(story.worker, 'Paused').waitFor();
  await editor.picture('held');
  await editor.menu(worker, 'Release This Thread');
  await editor.inStack(story.worker, 'Running').waitFor();
  await editor.inStack('wait_for_lock').click();
  await editor.command('Hangdbg: Hold This Thread');
  await editor.inStack('held').waitFor();
  await editor.command('Hangdbg: Release This Thread');
  await editor.inStack('MainThread', 'Running').waitFor();
  await editor.press('Shift+F5');
  await editor.ended();
});
