/**
 * The verify page, which `scripts/verify-page.ts` builds as one file. It is public, holds no data, and calls nothing.
 * Proven by `test/verify-page/browser.test.ts`.
 */
import { readFile } from 'node:fs/promises';
import { GovError } from '../../contract/problems.ts';
import type { RawAnswer } from './write.ts';

export const verifyPagePath = '/console/verify.html';

const file = new URL('../../../dist/verify.html', import.meta.url);

let page: Promise<RawAnswer> | undefined;

/** NOT_FOUND where the page was not built. */
export const renderVerifyPage = (): Promise<RawAnswer> => (page ??= readPage());

async function readPage(): Promise<RawAnswer> {
  const body = await readFile(file, 'utf8').catch((cause: unknown) => {
    page = undefined;
    throw new GovError('NOT_FOUND', 'the verify page is not built: run npm run build', { cause });
  });
  // its own policy names the hashes of its script and style; only a header can say who may frame it
  const policy =
    /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(body)?.[1] ?? "default-src 'none'";
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `${policy}; frame-ancestors 'none'`,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  };
  return { status: 200, body, headers };
}
