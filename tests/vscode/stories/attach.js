// A process that hangs is attached to; another thread of it stops at a breakpoint.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.command('Hangdbg: Attach to a Hung Python Process');
  await editor.pick(story.pid);
  await editor.inStack('wait_for_lock').waitFor();
  await editor.fold('Watch', 'Breakpoints');
  await editor.picture('hung');

  await editor.inStack(story.frame).click();
  await editor.variable(story.local.name, story.local.value).waitFor();
  await editor.ask(`${story.local.name}.upper()`);
  await editor.said(story.local.value.toUpperCase()).waitFor();
  await editor.picture('asked');

  await editor.goTo(story.file, story.line);
  await editor.toggleBreakpoint();
  await editor.inStack(story.worker, 'Paused on breakpoint').waitFor();
  await editor.inStack('loop', story.line).waitFor();
  await editor.picture('breakpoint');

  await editor.press('F10');
  await editor.inStack(story.worker, 'Paused on step').waitFor();
  await editor.inStack('loop', story.nextLine).waitFor();
  await editor.picture('stepped');

  await editor.goTo(story.file, story.line);
  await editor.toggleBreakpoint();
  await editor.press('F5');
  await editor.inStack(story.worker, 'Running').waitFor();
  await editor.picture('running');
  await editor.press('Shift+F5');
  await editor.ended();
  await editor.picture('left');
});
