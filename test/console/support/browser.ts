/**
 * A plane with real data, and a signed-in page of its console in a real Chromium. Tests that import this are skipped, with
 * the reason, where Chromium is missing.
 */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { it } from 'vitest';
import { startPlane, type StartOptions, type TestPlane } from '../../support/serving.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

/** `describe.skipIf(!hasBrowser)('…')`. */
export const hasBrowser = executablePath !== undefined;
if (!hasBrowser) it.skip('Chromium is missing: install it in /usr/bin', () => {});

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });

interface OpenOptions {
  /** Default: the key of the operator. */
  readonly key?: string;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
}

interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, and what the content security policy refused, so far. */
  readonly errors: readonly string[];
}

export interface ConsoleWorld {
  readonly plane: TestPlane;
  readonly browser: Browser;
  /** A page at an address such as `/approvals`, signed in by a one-time code. */
  open(address?: string, options?: OpenOptions): Promise<OpenPage>;
  end(): Promise<void>;
}

/** Starts a plane and a browser: `beforeAll(async () => { world = await startConsole(); })`. */
export async function startConsole(options: StartOptions = {}): Promise<ConsoleWorld> {
  const [plane, browser] = await Promise.all([startPlane(options), startBrowser()]);
  return {
    plane,
    browser,
    open: (address, how) => openConsole({ plane, browser }, address, how),
    end: async () => {
      await browser.close();
      await plane.end();
    },
  };
}

/** A page of a plane's console, signed in. `localhost`, since passkeys need a name. */
async function openConsole(
  { plane, browser }: Pick<ConsoleWorld, 'plane' | 'browser'>,
  address = '/',
  { key = plane.key, theme = 'light', width = 1280, height = 800 }: OpenOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    baseURL: `http://localhost:${plane.port}`,
  });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) errors.push(message.text());
  });
  const { body } = await plane.call('POST', '/console/links', { key });
  await page.goto(`/console#code=${(body as { code: string }).code}`);
  await page.locator('#navigation').waitFor({ state: 'attached' });
  if (address !== '/') await page.evaluate(`location.hash = ${JSON.stringify(`#${address}`)}`);
  return { page, context, errors };
}

/** What axe-core finds wrong by WCAG 2.2 AA and by its best practices, as `rule: element`. */
export async function axeFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
