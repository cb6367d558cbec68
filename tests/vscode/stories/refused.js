// What cannot be attached to has a dialog with the cause, and perhaps a button that helps.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.start('as configured');
  for (const text of story.says) {
    await editor.dialog(text).waitFor();
  }
  await editor.picture('refused');
  if (story.button) {
    await editor.dialog(story.says[0]).getByText(story.button, { exact: true }).click();
    await editor.page.getByText(story.then).first().waitFor();
    await editor.picture('helped');
  }
});
