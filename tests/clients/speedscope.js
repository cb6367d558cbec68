// Opens a profile in speedscope's own page, as its command line does, and prints as JSON what
// speedscope has understood: what it exports again.
//
//   node speedscope.js FOLDER PROFILE      FOLDER has node_modules/speedscope
//
// playwright-core is found by NODE_PATH; the browser is Debian's chromium.
process.env.TMPDIR = '/tmp'; // a socket of chromium's has its path there, which must be short
const fs = require('fs');
const os = require('os');
const path = require('path');
const { chromium } = require('playwright-core');

const PATIENCE = 120000; // milliseconds, for a browser on a busy machine

async function main(folder, profile) {
  const release = path.join(folder, 'node_modules', 'speedscope', 'dist', 'release', 'index.html');
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'speedscope-'));
  const loader = path.join(home, 'load.js');
  const name = JSON.stringify(path.basename(profile));
  const bytes = JSON.stringify(fs.readFileSync(profile).toString('base64'));
  fs.writeFileSync(loader, `speedscope.loadFileFromBase64(${name}, ${bytes})`);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
    timeout: PATIENCE,
  });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    const refused = new Promise((_, reject) => {
      page.on('dialog', (dialog) => reject(new Error('speedscope: ' + dialog.message())));
      page.on('pageerror', reject);
    });
    await Promise.race([refused, show(page, release, loader)]);
  } finally {
    await browser.close();
    fs.rmSync(home, { recursive: true });
  }
}

async function show(page, release, loader) {
  await page.goto(`file://${release}#localProfilePath=${loader}`);
  await page.getByText('Time Order').waitFor(); // the toolbar that a loaded profile has
  const download = page.waitForEvent('download');
  await page.getByText('Export').click();
  const saved = await (await download).path();
  console.log(fs.readFileSync(saved, 'utf8'));
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error.stack);
  process.exitCode = 1;
});
