/** The console's files as plane and service serve them: security headers, caching, compression, base path. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send, startPlane, type TestPlane } from '../../support/serving.ts';

describe('the files of the console', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane();
  });
  afterAll(() => plane.end());

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(method, `${plane.origin}${path}`, { headers });
  const appOf = (html: string): string => /src="([^"]+)"/.exec(html)?.[1] ?? '';

  it('the page lets only its own scripts run, and nothing frame it', async () => {
    const { status, headers, text } = await get('/console/');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-cache');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['cross-origin-opener-policy']).toBe('same-origin');
    expect(headers['set-cookie']).toBeUndefined();
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=|https?:/);
  });

  it('the address without the slash leads to the page by a relative address, as below the base path of a proxy', async () => {
    const { status, headers } = await get('/console');
    expect([status, headers.location]).toEqual([308, 'console/']);
  });

  it('every file but the page is named by its content and kept for a year', async () => {
    const { text } = await get('/console/');
    const names = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name);
    expect(names).toHaveLength(3);
    for (const name of names) {
      const { status, headers } = await get(`/console/${name}`);
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
      expect(name).toMatch(/^\w+-[\w-]{8}\.(?:js|css|svg)$/);
    }
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ])('a file is sent in %s to browsers that accept it, with a tag of its own', async (coding, open) => {
    const path = `/console/${appOf((await get('/console/')).text)}`;
    const plain = await get(path);
    const packed = await get(path, { 'accept-encoding': coding });
    expect([packed.headers['content-encoding'], packed.headers.vary]).toEqual([coding, 'Accept-Encoding']);
    expect(open(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(packed.headers.etag).not.toBe(plain.headers.etag);
    const again = await get(path, {
      'accept-encoding': coding,
      'if-none-match': String(packed.headers.etag),
    });
    expect([again.status, again.text]).toEqual([304, '']);
    const refused = await get(path, { 'accept-encoding': `${coding};q=0` });
    expect(refused.headers['content-encoding']).toBeUndefined();
  });

  it('If-None-Match: * matches a file that exists', async () => {
    expect((await get('/console/', { 'if-none-match': '*' })).status).toBe(304);
  });

  it('HEAD has the headers of GET and no body', async () => {
    const { status, headers, text } = await get('/console/', {}, 'HEAD');
    expect([status, headers['content-type'], text]).toEqual([200, 'text/html; charset=utf-8', '']);
  });

  it.each([
    '/console/nothing.js',
    '/console/..%2f..%2fpackage.json',
    '/console/index.html.br',
    '/console/%00',
  ])('answers 404 to %s', async (path) => {
    const { status, body } = await get(path);
    expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('answers 405 to a method that changes something', async () => {
    const { status, headers } = await get('/console/', {}, 'POST');
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});
