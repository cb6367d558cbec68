// The site in a browser: each page that its argument names, at each width. Says of a page what is wrong
// with it: an error on the console, a file that is not there, what is wider than the window.
//
//   node look.js ADDRESS PICTURES WIDTH,WIDTH PAGE...
//
// tests/integration/project/test_site.py runs it. PICTURES: the folder for pictures of what is wrong, and
// of the first page.
const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');

const PATIENCE = 60000; // milliseconds
const SETTLES_WITHIN = 3000;

// What sticks out of the window, innermost first. What is in an element that scrolls by itself, as a
// table or a block of code, does not.
function tooWide() {
  const width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth <= width) {
    return null;
  }
  const wide = [...document.querySelectorAll('body *')].filter((one) => {
    if (one.getBoundingClientRect().right <= width + 1) {
      return false;
    }
    for (let above = one.parentElement; above !== null; above = above.parentElement) {
      if (getComputedStyle(above).overflowX !== 'visible') {
        return false;
      }
    }
    return true;
  });
  const names = wide.slice(-3).map((one) => `<${one.tagName.toLowerCase()}> ${one.textContent.trim().slice(0, 40)}`);
  return `${document.scrollingElement.scrollWidth} pixels wide: ${names.join('; ')}`;
}

// Null once nothing is too wide: what moves as the width changes needs a moment.
async function settled(page) {
  const deadline = Date.now() + SETTLES_WITHIN;
  let wide = await page.evaluate(tooWide);
  while (wide !== null && Date.now() < deadline) {
    await page.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
    wide = await page.evaluate(tooWide);
  }
  return wide;
}

async function main([address, pictures, widths, ...pages]) {
  fs.mkdirSync(pictures, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.HANGDBG_BROWSER, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  let errors = [];
  page.on('console', (message) => {
    if (message.type() === 'error') {
      errors.push(message.text());
    }
  });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('requestfailed', (request) => {
    if (request.failure().errorText !== 'net::ERR_ABORTED') { // by the way to the next page
      errors.push(`${request.url()}: ${request.failure().errorText}`);
    }
  });
  page.on('response', (response) => {
    if (response.status() >= 400) {
      errors.push(`${response.url()}: ${response.status()}`);
    }
  });
  for (const [number, name] of pages.entries()) {
    errors = [];
    await page.goto(`${address}/${name}`, { waitUntil: 'load' });
    for (const width of widths.split(',').map(Number)) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await settled(page);
      if (wide !== null) {
        errors.push(`at ${width}: ${wide}`);
      }
      if (errors.length > 0 || number === 0) {
        await page.screenshot({ path: path.join(pictures, `${name.replace(/\W/g, '-')}-${width}.png`) });
      }
    }
    console.log(JSON.stringify({ page: name, errors }));
  }
  await browser.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.log(error.stack);
  process.exitCode = 1;
});
