// Each of many ranks gets a session and is shown where it hangs: in how many seconds.
const { play } = require('../editor');

play(async (editor, story) => {
  await editor.fold('Variables', 'Watch', 'Breakpoints');
  await editor.command('Debug: Select and Start Debugging');
  const from = performance.now();
  await editor.quick('as configured').click();
  await editor.page.waitForFunction(shown, story.ranks, { polling: 50 });
  const seconds = (performance.now() - from) / 1000;
  await editor.picture('ranks');
  console.log(`${story.ranks} ranks are shown in ${seconds.toFixed(2)} s`);
  await editor.command('Hangdbg: Detach from Everything');
  await editor.ended();
});

// In the page.
function shown(ranks) {
  const rows = [...document.querySelectorAll('.debug-call-stack .monaco-list-row')];
  return rows.filter(row => /rank \d+.*futex/is.test(row.textContent)).length === ranks;
}
