/** Names, colors and logos of reports, and hostile pictures and bodies, at a plane and at a service on both engines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPicture } from '../../../src/core/picture.ts';
import { jpeg, jpegOfScans, png, webpLossless, webpLossy } from '../../support/pictures.ts';
import type { CallOptions, TestPlane } from '../../support/serving.ts';
import { multipart, upload } from '../../support/upload.ts';
import { startWorld, worlds } from '../../support/worlds.ts';

const path = '/reporting/branding';

describe.each(worlds)('the branding of a project on %s', (world) => {
  let at: TestPlane;
  beforeAll(async () => {
    at = await startWorld(world);
  });
  afterAll(() => at.end());

  const send = (options: CallOptions) => at.call('POST', `${path}/logo`, options);

  it('a project has no branding before the first PUT, and a PUT replaces all but the logo', async () => {
    expect((await at.call('GET', path)).status).toBe(404);
    const set = { companyName: 'Analytical Engines', primaryColor: '#ABCDEF', footerText: 'Confidential' };
    const first = (await at.call('PUT', path, { body: set })).body;
    expect(first).toMatchObject({ ...set, accentColor: '#2a7f62', logoUrl: null });
    const { logoUrl } = (await send(upload(png(16, 8)))).body;
    const second = (await at.call('PUT', path, { body: { accentColor: '#000000' } })).body;
    expect(second).toMatchObject({ companyName: null, accentColor: '#000000', footerText: null, logoUrl });
    expect((await at.call('GET', path)).body).toEqual(second);
    expect((await at.call('PUT', path, { body: second })).status).toBe(200);
    const { status, body } = await at.call('PUT', path, { body: { logoUrl: 'https://evil.example/' } });
    expect([status, body.code]).toEqual([400, 'READ_ONLY_FIELD']);
  });

  it.each([
    ['/companyName', { companyName: 'x'.repeat(101) }],
    ['/companyName', { companyName: 'two\nlines' }],
    ['/footerText', { footerText: 'x'.repeat(501) }],
    ['/footerText', { footerText: 'paid\u202ella ton' }],
    ['/footerText', { footerText: 'two\nlines' }],
    ['/primaryColor', { primaryColor: 'red' }],
    ['/primaryColor', { primaryColor: '#12345' }],
    ['/accentColor', { accentColor: '#1234567' }],
  ])('a branding is refused for %s of %j', async (pointer, body) => {
    const answer = await at.call('PUT', path, { body });
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('a branding of the longest name and footer is accepted', async () => {
    const body = { companyName: 'x'.repeat(100), footerText: 'x'.repeat(500) };
    expect((await at.call('PUT', path, { body })).status).toBe(200);
  });

  it.each([
    ['png', png(16, 8)],
    ['jpeg', jpeg],
    ['lossy webp', webpLossy],
  ])('a logo as %s is served as PNG of the same size, without a credential', async (_kind, bytes) => {
    const sent = await send(upload(bytes));
    expect(sent.status, sent.text).toBe(201);
    const served = await at.call('GET', sent.body.logoUrl, { key: null });
    expect(readPicture(served.bytes)).toEqual({ kind: 'png', width: 16, height: 8 });
    expect(served.headers).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
  });

  it('a logo as lossless WebP is refused, and the answer says what to send', async () => {
    const sent = await send(upload(webpLossless));
    expect(sent.status).toBe(400);
    expect(sent.text).toContain('expected a PNG, JPEG or lossy WebP picture');
    expect(sent.text).toContain('which PNG can have');
  });

  it('a logo loses everything but its pixels', async () => {
    const secret = Buffer.from('Comment\0taken at 47.37 N 8.54 E <script>');
    const { logoUrl } = (await send(upload(png(16, 8, [['tEXt', secret]])))).body;
    const served = await at.call('GET', logoUrl, { key: null });
    expect(served.bytes.includes('47.37')).toBe(false);
  });

  it('a new logo replaces the old one, whose address is gone', async () => {
    const { logoUrl: old } = (await send(upload(png(16, 8)))).body;
    const { logoUrl } = (await send(upload(png(17, 9)))).body;
    expect((await at.call('GET', old, { key: null })).status).toBe(404);
    expect((await at.call('GET', path)).body.logoUrl).toBe(logoUrl);
  });

  it.each([
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['a PNG with a page after it', Buffer.concat([png(16, 8), Buffer.from('<script>alert(1)</script>')])],
    ['a PNG of 30,000 × 30,000 pixels', png(30_000, 30_000)],
    ['a PNG of 2001 × 1 pixels', png(2001, 1)],
    [
      'a PNG whose data is damaged',
      Buffer.from(png(16, 8).toString('latin1').replace('IDAT', 'IDAZ'), 'latin1'),
    ],
    ['a PNG whose data decodes to other rows', png(16, 8, [['IDAT', Buffer.from('no deflated rows')]])],
    ['a JPEG of 1 MiB whose scans take minutes', jpegOfScans(2000, 55_000)],
    ['nothing', Buffer.alloc(0)],
    ['a text that says it is a PNG', Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1')],
  ])('%s is refused as a logo', async (_name, bytes) => {
    const { status, body } = await send(upload(bytes));
    expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'VALIDATION_ERROR', '/file']);
  });

  it('a logo as JPEG of 2000 × 2000 pixels in 100 scans is decoded', async () => {
    expect((await send(upload(jpegOfScans(2000, 100)))).status).toBe(201);
  });

  it('a logo of 2000 × 2000 pixels is accepted', async () => {
    expect((await send(upload(png(2000, 2000)))).status).toBe(201);
  });

  it('a logo of more than 1 MiB is refused as too large', async () => {
    const filler = (size: number) => png(16, 8, [['fiLl', Buffer.alloc(size - png(16, 8).length - 12)]]);
    const exact = await send(upload(filler(1024 * 1024)));
    expect(exact.status, exact.text).toBe(201);
    const { status, body } = await send(upload(filler(1024 * 1024 + 1)));
    expect([status, body.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect((await send(upload(filler(2 * 1024 * 1024)))).status).toBe(413);
  });

  const file = { bytes: png(16, 8) };
  it.each([
    ['no part', multipart([])],
    ['two files', multipart([file, file])],
    ['a part of another name', multipart([{ ...file, name: 'logo' }])],
    ['a field beside the file', multipart([file, { name: 'note', filename: null, bytes: Buffer.from('x') }])],
    ['a field before the file', multipart([{ name: 'note', filename: null, bytes: Buffer.from('x') }, file])],
    ['a field that is named file', multipart([{ ...file, filename: null }])],
    ['a body that ends early', multipart([file], { end: '' })],
    ['a body that is no multipart', { ...multipart([]), raw: 'file=1' }],
  ])('an upload with %s is refused', async (_name, options) => {
    const { status, body } = await send(options as CallOptions);
    expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  it.each([
    ['application/json', '{}'],
    ['multipart/mixed; boundary=x', '--x--'],
    ['multipart/form-data', '--x--'],
    ['image/png', 'x'],
  ])('an upload as %s is refused for its media type', async (type, raw) => {
    const { status } = await send({ raw, headers: { 'content-type': type } });
    expect(status).toBe(415);
  });

  it('a repeated upload with an idempotency key gets the same logo, and another file is refused', async () => {
    const key = { 'idempotency-key': 'logo' };
    const one = upload(png(16, 8));
    const first = await send({ ...one, headers: { ...one.headers, ...key } });
    const again = await send({ ...one, headers: { ...one.headers, ...key } });
    expect(again.body).toEqual(first.body);
    const other = upload(png(8, 16));
    expect((await send({ ...other, headers: { ...other.headers, ...key } })).body.code).toBe(
      'IDEMPOTENCY_KEY_REUSE',
    );
  });

  it('a logo that nobody has is not found', async () => {
    expect(
      (await at.call('GET', '/reporting/logos/lgo_01jzzzzzzzzzzzzzzzzzzzzzzz', { key: null })).status,
    ).toBe(404);
    expect((await at.call('GET', '/reporting/logos/..%2f..%2fstore.db', { key: null })).status).toBe(404);
  });
});
