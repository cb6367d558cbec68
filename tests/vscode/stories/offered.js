// Without a launch.json: what hangs now is offered beside the button.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.command('Debug: Select and Start Debugging');
  await editor.quick('Python that hangs').click();
  await editor.pick(story.pid);
  await editor.state('futex').waitFor();
  await editor.press('Shift+F5');
  await editor.ended();
});
