// Each rank of a job is attached to in a session of its own.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.start('as configured');
  await editor.fold('Watch', 'Breakpoints');
  for (let rank = 0; rank < story.ranks; rank++) {
    await editor.inStack(`rank ${rank}`, 'futex').waitFor();
  }
  await editor.picture('ranks');
  await editor.command('Hangdbg: Detach from Everything');
  await editor.ended();
});
