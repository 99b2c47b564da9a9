/**
 * Benchmark of the verify page: a proof bundle of 1,000 events in Chromium, from the choice of the file to the verdict.
 * `node bench/browser/verify-page.ts [rounds]` (needs chromium in /usr/bin, and a build)
 */
import { readFileSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { discard } from '../support/harness.ts';
import { thousandEvents } from '../support/thousand.ts';

const rounds = Number(process.argv[2] ?? 11);
const { bundles, trust, dataDir } = await thousandEvents();
const { none: _, ...files } = bundles;
discard(join(dataDir, '..'));

const path = join(import.meta.dirname, '../../dist/verify.html');
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage();
await page.goto(pathToFileURL(path).href);
await page.fill('#trust', trust);
const { size } = statSync(path);
console.log(`page: ${size} bytes, ${gzipSync(readFileSync(path), { level: 9 }).length} with gzip`);
for (const [name, bytes] of Object.entries(files)) {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const file = { name: 'run.govproof.json', mimeType: 'application/json', buffer: Buffer.from(bytes) };
    const started = performance.now();
    await page.setInputFiles('#files', [file]);
    await page.waitForSelector('#results[aria-busy=false] .verdict');
    times.push(performance.now() - started);
    const verdict = await page.textContent('.verdict p');
    if (verdict !== '✓ Verified') throw new Error(`${name}: expected ✓ Verified, got ${verdict}`);
  }
  times.sort((one, other) => one - other);
  const [middle = 0, last = 0] = [times[Math.floor(rounds / 2)], times.at(-1)];
  const megabytes = (bytes.length / 1e6).toFixed(1);
  console.log(
    `${name}, ${megabytes} MB: median ${middle.toFixed(0)} ms, most ${last.toFixed(0)} ms, load ${loadavg()[0]?.toFixed(1)}`,
  );
}
await browser.close();
