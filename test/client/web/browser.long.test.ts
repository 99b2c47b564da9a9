/** The library in a real browser: files with proofs get the verdicts that Node gives. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as Library from '../../../src/client/index.ts';
import type * as Verifier from '../../../src/client/verify.ts';
import { projectRoot } from '../../paths.ts';
import { cases, signedEvidence } from './evidence.ts';

/** What the page loads. */
declare const verifier: typeof Verifier;
declare const library: typeof Library;

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

describe.skipIf(executablePath === undefined)('in a browser (needs chromium in /usr/bin)', () => {
  let server: Server;
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      const name = /^\/([\w-]+\.js)$/.exec(request.url ?? '')?.[1];
      const type = name === undefined ? 'text/html' : 'text/javascript';
      response.writeHead(200, { 'content-type': type });
      response.end(
        name === undefined
          ? '<!doctype html><title>gov</title>'
          : readFileSync(join(projectRoot, 'dist', name)),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const content = `import * as verifier from '/verify-web.js'; import * as library from '/client-web.js';
      Object.assign(globalThis, { verifier, library });`;
    await page.addScriptTag({ type: 'module', content });
    await page.waitForFunction('globalThis.library !== undefined');
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  it('every sound and every changed file gets the verdict of Node, with signed approvals by each kind of key', async () => {
    const all = [...(await cases(30)), ...signedEvidence()];
    const files = all.map(({ bytes, trust }) => ({ base64: Buffer.from(bytes).toString('base64'), trust }));
    const verdicts = await page.evaluate(async (given) => {
      const { verify, readTrust } = verifier;
      const judged: string[] = [];
      for (const { base64, trust } of given) {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const verdict = await verify(new Blob([bytes]), { trust: trust === null ? null : readTrust(trust) });
        judged.push(JSON.stringify(verdict));
      }
      return judged;
    }, files);
    const got = verdicts.map((text) => JSON.parse(text) as unknown);
    const expected = all.map(
      ({ kind, verdict }) => JSON.parse(JSON.stringify({ kind, ...verdict })) as unknown,
    );
    expect(got).toEqual(expected);
    expect(errors).toEqual([]);
  });

  it('the client loads, and says which error an unreachable service is', async () => {
    const name = await page.evaluate(async () => {
      const client = library.createClient({ baseUrl: 'http://127.0.0.1:1/api/v1', retries: 0 });
      return client.getHealth().catch((error: Error) => error.name);
    });
    expect(name).toBe('GovNetworkError');
  });
});
