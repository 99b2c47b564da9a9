/** The verify page in a real browser, from a file and with the network off: the verdicts of the command line. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/client/verify.ts';
import { toJson } from '../../src/core/reports/artifacts.ts';
import { formatTrust } from '../../src/core/note/trust.ts';
import { shownOf } from '../../src/verify-page/words.ts';
import { type Case, cases, signedEvidence } from '../client/web/evidence.ts';
import { readReportFonts } from '../../src/host/reports/fonts.ts';
import { bytesOf, ProofLog, recordSampleRun, sample, trust } from '../core/proofs/log.ts';
import { sampleReport, signatureOf, signedPdf } from '../core/reports/sample.ts';
import { projectRoot } from '../paths.ts';
import { startPlane } from '../support/serving.ts';

const file = join(projectRoot, 'dist/verify.html');
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);
/** Set it to a folder for pictures of the page. */
const pictures = process.env['GOV_PICTURES'];

interface Given {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}
const given = (name: string, bytes: string | Uint8Array): Given => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(bytes),
});
const nameOf = (kind: string, bytes: Uint8Array): string =>
  Buffer.from(bytes.subarray(0, 5)).toString() === '%PDF-' ? 'report.pdf' : `file.gov${kind}.json`;

it('the page is one small file without addresses of other files', () => {
  const page = readFileSync(file, 'utf8');
  expect(page.length).toBeLessThan(350_000);
  expect(page.replace(/<script>[^]*<\/script>/, '')).not.toMatch(/\b(?:src|href)="(?!data:)/);
  expect(/\beval\(|new Function\b/.test(page)).toBe(false);
  expect(page.match(/<script/g)).toHaveLength(1);
});

describe.skipIf(executablePath === undefined)('the verify page (needs chromium in /usr/bin)', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const errors: string[] = [];
  const asked: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
    context = await browser.newContext({ viewport: { width: 1024, height: 900 } });
    await context.setOffline(true);
    page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(file).href);
  });
  afterAll(async () => {
    expect(errors).toEqual([]);
    expect(asked.filter((url) => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
    await browser?.close();
  });

  /** As a browser that has seen no log: those of the tests have one name. */
  const check = async (trusted: string, files: readonly Given[]): Promise<void> => {
    await page.fill('#trust', trusted);
    // other keys check the files of before again
    await page.waitForSelector('#results[aria-busy=false]', { state: 'attached' });
    await page.evaluate('localStorage.clear()');
    await page.setInputFiles('#files', [...files]);
    await page.waitForSelector('#results[aria-busy=false]', { state: 'attached' });
  };
  interface ShownFile {
    readonly tone: string;
    readonly verdict: string;
    readonly lines: readonly string[];
  }
  const shownFiles = () =>
    page.evaluate<ShownFile[]>(`[...document.querySelectorAll('article.verdict')].map((article) => ({
      tone: article.className.replace('verdict ', ''),
      verdict: article.querySelector('p').textContent.slice(2),
      lines: [...article.querySelectorAll('li')].map((item) => item.textContent),
    }))`);
  /** What the page shows of the first file. */
  const shown = async () => (await shownFiles())[0];
  /** What it has to show for this verdict of the command line. */
  const expected = ({ kind, verdict: judged }: Case, fileName: string): ShownFile => {
    const { tone, verdict, checks, layers } = shownOf({ kind, ...judged } as Verdict, fileName);
    return { tone, verdict, lines: [...layers, ...checks].map(({ word, text }) => `${word}: ${text}`) };
  };
  const picture = async (name: string): Promise<void> => {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  };

  it('every sound and every changed file gets the verdict of the command line, check by check', async () => {
    for (const each of await cases(8)) {
      const { name, kind, bytes, trust: trusted } = each;
      const fileName = nameOf(kind, bytes);
      await check(trusted ?? '', [given(fileName, bytes)]);
      expect(await shown(), `${kind}, ${name}`).toEqual(expected(each, fileName));
    }
  });

  it('signed approvals by each kind of key, and of logs that lie about them, get the verdict of the command line', async () => {
    const all = signedEvidence();
    const files: (ShownFile | undefined)[] = [];
    for (const [at, { bytes }] of all.entries()) {
      await check(formatTrust(trust), [given(`${at}.govproof.json`, bytes)]);
      files.push(await shown());
    }
    expect(files.map((file, at) => [all[at]?.name, file])).toEqual(
      all.map((each, at) => [each.name, expected(each, `${at}.govproof.json`)]),
    );
    expect(files.filter((file) => file?.tone === 'good')).toHaveLength(13);
    expect(files[0]?.lines.join()).toMatch(
      /Passed: Each signed approval verifies .* 1 by Ada \(ssh, SHA256:/,
    );
  });

  it('two histories of one log are refused, also after the page was opened again, and the evidence verifies', async () => {
    const log = new ProofLog();
    log.record({ runId: 'earlier' });
    recordSampleRun(log);
    const [mine, theirs] = [bytesOf(sample()), bytesOf(log.prove('run-1'))];
    const split = { tone: 'bad', verdict: 'Not verified: the log signed two histories' };
    await check(formatTrust(trust), [given('mine.json', mine), given('theirs.json', theirs)]);
    expect((await shownFiles()).map(({ tone, verdict }) => ({ tone, verdict }))).toEqual([
      { tone: 'good', verdict: 'Verified' },
      split,
    ]);
    await picture('split-view');
    const [saved] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')]);
    const evidence = readFileSync(await saved.path());
    await page.reload();
    const again = async (name: string, bytes: Buffer): Promise<void> => {
      await page.fill('#trust', formatTrust(trust));
      await page.setInputFiles('#files', [given(name, bytes)]);
      await page.waitForSelector('article.verdict');
    };
    await again('theirs.json', theirs);
    expect(await shown()).toMatchObject(split);
    await again(saved.suggestedFilename(), evidence);
    expect(await shown()).toMatchObject({ tone: 'good', verdict: 'Verified: the log signed two histories' });
  });

  it('a tampered file is refused in words first, and pictures show it', async () => {
    const fonts = await readReportFonts();
    const report = sampleReport({ rows: 3 });
    const figures = report.figures.map((figure) => ({ ...figure, value: 0 }));
    const signature = signatureOf(report, { fonts });
    const forged = await signedPdf({ ...report, figures }, { fonts, signature });
    const bundle = bytesOf(sample());
    const changed = Buffer.from(bundle.toString().replace('run.started', 'run.stopped'));
    const files = [
      ['report', await signedPdf(report, { fonts }), 'wait', forged],
      ['proof', bundle, 'good', changed],
    ] as const;
    for (const [kind, sound, tone, other] of files) {
      await check(formatTrust(trust), [given(nameOf(kind, sound), sound)]);
      expect((await shown())?.tone).toBe(tone);
      await picture(`${kind}-sound`);
      await check(formatTrust(trust), [given(nameOf(kind, other), other)]);
      expect(await shown()).toMatchObject({ tone: 'bad', verdict: 'Not verified: do not rely on this file' });
      await picture(`${kind}-changed`);
    }
  });

  it('a JSON report is verified with its signature beside it, refused without, and refused under another data hash', async () => {
    const report = sampleReport({ rows: 3 });
    const json = given('report.json', toJson(report));
    const signature = given('report.dsse.json', signatureOf(report));
    await check(formatTrust(trust), [json, signature]);
    expect(await shown()).toMatchObject({ tone: 'good', verdict: 'Verified' });
    await check(formatTrust(trust), [json]);
    expect((await shown())?.tone).toBe('bad');
    await check(formatTrust(trust), [json, signature]);
    await page.click('summary');
    await page.fill('#hash', `sha256:${'0'.repeat(64)}`);
    await page.waitForSelector('.verdict.bad');
    await page.fill('#hash', 'nonsense');
    expect(await page.textContent('#hash-state')).toContain('expected sha256:');
    await page.fill('#hash', '');
    await page.waitForSelector('.verdict.good');
  });

  it('a trust file that is dropped with the evidence is used as trust, and a text that is no key is refused in words', async () => {
    const [sound] = await cases(1);
    await page.fill('#trust', '');
    const files = [given('trust', formatTrust(trust)), given('run.govproof.json', sound!.bytes)];
    await page.setInputFiles('#files', files);
    await page.waitForSelector('.verdict.good');
    await page.fill('#trust', 'log nonsense');
    await page.waitForSelector('.verdict.wait');
    expect(await page.textContent('#trust-state')).toMatch(/^These keys cannot be read: /);
  });

  it('keys that come with the evidence do not replace the keys in step 1, which a trust file alone does', async () => {
    const [sound] = await cases(1);
    const other = formatTrust(trust).replace(/quorum.*/s, 'quorum none\n# other\n');
    await check('log example.com/other+f9a639a4+nonsense', []);
    const mixed = [given('trust', other), given('run.govproof.json', sound!.bytes)];
    await page.setInputFiles('#files', mixed);
    await page.getByText('The keys above were kept').waitFor();
    expect(await page.inputValue('#trust')).toContain('example.com/other');
    expect((await shown())?.tone).not.toBe('good');
    await page.setInputFiles('#files', [given('trust', other)]);
    await page.waitForSelector('.verdict.good');
    expect(await page.inputValue('#trust')).toBe(other);
  });

  it('a folder that is dropped after a sound file is refused, and the verdict of that file goes', async () => {
    const [sound] = await cases(1);
    await check(formatTrust(trust), [given('run.govproof.json', sound!.bytes)]);
    expect((await shown())?.tone).toBe('good');
    await page.evaluate(`(() => {
      const folder = new File([''], 'folder');
      const fail = () => Promise.reject(new DOMException('it is a folder', 'NotFoundError'));
      Object.defineProperties(folder, { text: { value: fail }, arrayBuffer: { value: fail } });
      const drop = new DragEvent('drop', { cancelable: true });
      Object.defineProperty(drop, 'dataTransfer', { value: { files: [folder] } });
      document.dispatchEvent(drop);
    })()`);
    await page.waitForSelector('.verdict.bad');
    expect(await page.locator('.verdict').count()).toBe(1);
    expect(await page.textContent('#state')).toBe('Checked 1: 0 verified, 1 not verified.');
  });

  it('hostile names and texts are shown as text, and do nothing', async () => {
    const html = '<img src=x onerror=alert(1)>';
    const hostile = `${html}\u202e\ufe0f\u3164`;
    await check('', [given(`${hostile}.json`, `{"mediaType":"${hostile}"}`)]);
    expect(await page.locator('article img, article script').count()).toBe(0);
    expect(await page.textContent('article h3')).toBe(`${html}\\u202e\\ufe0f\\u3164.json`);
    expect(await page.textContent('body')).not.toMatch(/[\u202e\u3164]|\ufe0f/);
    await picture('hidden-name');
  });

  it.each(['light', 'dark'] as const)(
    'the page has no fault of accessibility in the %s theme, wide and narrow',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      const all = await cases(1);
      const sound = all.filter(({ name }) => name === 'sound');
      await check(sound[0]!.trust!, [
        ...sound.map(({ kind, bytes }, at) => given(`${at}-${nameOf(kind, bytes)}`, bytes)),
        given('changed.json', '{}'),
      ]);
      const axe = readFileSync(join(projectRoot, 'node_modules/axe-core/axe.min.js'), 'utf8');
      await page.evaluate(axe);
      for (const width of [1024, 360]) {
        await page.setViewportSize({ width, height: 900 });
        const violations = await page.evaluate<unknown[]>(
          'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))',
        );
        expect(violations).toEqual([]);
        expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
          width,
        );
        await picture(`all-${colorScheme}-${width}`);
      }
      await page.setViewportSize({ width: 1024, height: 900 });
    },
  );

  it('a plane serves the same page with a policy that lets nothing but its script run', async () => {
    const plane = await startPlane();
    try {
      const { origin } = new URL(plane.baseUrl);
      const answer = await fetch(`${origin}/console/verify.html`);
      expect(await answer.text()).toBe(readFileSync(file, 'utf8'));
      const policy = answer.headers.get('content-security-policy')!;
      expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; .*frame-ancestors 'none'$/);
      const served = await browser.newPage();
      served.on('pageerror', (error) => errors.push(error.message));
      served.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
      await served.goto(`${origin}/console/verify.html`);
      expect(await served.textContent('#trust-state')).toContain('No key is trusted yet');
      await served.close();
    } finally {
      await plane.end();
    }
  });
});
