// A program is started, stops at a breakpoint, and ends.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.goTo(story.file, story.line);
  await editor.toggleBreakpoint();
  await editor.start('as configured');
  await editor.state('Paused on breakpoint').waitFor();
  await editor.variable(story.local.name, story.local.value).waitFor();
  await editor.picture('breakpoint');
  await editor.goTo(story.file, story.line);
  await editor.toggleBreakpoint();
  await editor.press('F5');
  await editor.said(story.printed).waitFor();
  await editor.ended();
  await editor.picture('ended');
});
