// A thread is held, released and told to raise, by the menu of a frame: where a process
// has one thread, neither of them has a row.
const { play } = require('../editor');

play(async (editor) => {
  await editor.start('as configured');
  await editor.fold('Watch', 'Breakpoints');
  const frame = editor.inStack('wait');
  await editor.state('futex').waitFor();
  await frame.waitFor();
  await editor.menu(frame, 'Hold This Thread');
  await editor.state('held').waitFor();
  await editor.menu(frame, 'Raise an Exception in This Thread...');
  await editor.page.locator('.quick-input-widget', { hasText: 'Raise in this thread' }).waitFor();
  await editor.picture('raising');
  await editor.press('Enter');
  await editor.notification('it is raised now').waitFor();
  await editor.state('Running').waitFor();
  await editor.press('Shift+F5');
  await editor.ended();
});
