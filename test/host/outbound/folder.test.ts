import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fileSender } from '../../../src/host/outbound/folder.ts';

let root: string;
let outside: string;
let send: ReturnType<typeof fileSender>;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gov-folder-'));
  outside = mkdtempSync(join(tmpdir(), 'gov-outside-'));
  send = fileSender(root);
});

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe('a file below the delivery folder', () => {
  it('is whole, private, and has no part beside it', async () => {
    expect(await send('2026/03/report.csv', chunks('a,b\r\n', '1,2\r\n'))).toMatchObject({
      ok: true,
      failed: null,
    });
    expect(readFileSync(join(root, '2026/03/report.csv'), 'utf8')).toBe('a,b\r\n1,2\r\n');
    expect(lstatSync(join(root, '2026/03/report.csv')).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(root, '2026/03'))).toEqual(['report.csv']);
  });

  it.each([
    '../escaped',
    'a/../../escaped',
    '/etc/escaped',
    'a//b',
    './a',
    '.hidden',
    'a/.ssh/b',
    'a\\..\\b',
    'a\0b',
    'a\nb',
    '',
    'a/',
    'a.',
    'a ',
    '~/x',
    'x'.repeat(201),
    'a/b/c/d/e/f/g/h/i',
    'CON:stream',
  ])('has a plain name: %j is refused for good', async (name) => {
    expect(await send(name, chunks('x'))).toMatchObject({ ok: false, isFinal: true });
    expect(readdirSync(root)).toEqual([]);
  });

  it('is not written through a symbolic link to a folder', async () => {
    symlinkSync(outside, join(root, 'link'));
    expect(await send('link/report.csv', chunks('x'))).toMatchObject({ ok: false, isFinal: true });
    expect(readdirSync(outside)).toEqual([]);
  });

  it('does not follow a symbolic link with its own name', async () => {
    const victim = join(outside, 'victim');
    symlinkSync(victim, join(root, 'report.csv'));
    expect(await send('report.csv', chunks('x'))).toMatchObject({ ok: false, isFinal: true });
    expect(existsSync(victim)).toBe(false);
  });

  it('is not written where a folder of its path is a file', async () => {
    writeFileSync(join(root, 'a'), 'file');
    expect(await send('a/report.csv', chunks('x'))).toMatchObject({ ok: false, isFinal: true });
  });

  it('never replaces another file', async () => {
    writeFileSync(join(root, 'report.csv'), 'before');
    const answer = await send('report.csv', chunks('after'));
    expect(answer).toMatchObject({ ok: false, isFinal: true });
    expect(answer.failed).toContain('another file has that name');
    expect(readFileSync(join(root, 'report.csv'), 'utf8')).toBe('before');
    expect(readdirSync(root)).toEqual(['report.csv']);
  });

  it('is a success again where an earlier attempt wrote the same bytes', async () => {
    const text = 'x'.repeat(200_000);
    expect(await send('report.csv', chunks(text))).toMatchObject({ ok: true });
    expect(await send('report.csv', chunks(text.slice(0, 10), text.slice(10)))).toMatchObject({ ok: true });
    expect(await send('report.csv', chunks(`${text.slice(1)}y`))).toMatchObject({ ok: false, isFinal: true });
  });

  it('two at once under one name: one wins, and nothing is mixed', async () => {
    const [a, b] = ['a', 'b'].map((letter) => letter.repeat(300_000));
    const answers = await Promise.all([send('r.csv', chunks(a!)), send('r.csv', chunks(b!))]);
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect([a, b]).toContain(readFileSync(join(root, 'r.csv'), 'utf8'));
    expect(readdirSync(root)).toEqual(['r.csv']);
  });

  it('removes the part of a crash, and not that of a delivery in progress', async () => {
    const [old, young] = ['0'.repeat(16), '1'.repeat(16)].map((id) => join(root, `.r.csv.${id}.part`));
    for (const path of [old!, young!]) writeFileSync(path, 'half');
    utimesSync(old!, new Date(0), new Date(0));
    await send('r.csv', chunks('whole'));
    expect(readdirSync(root).toSorted()).toEqual([`.r.csv.${'1'.repeat(16)}.part`, 'r.csv']);
  });

  it('leaves nothing where the source of the bytes fails', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      throw new Error('the artifact is altered');
    }
    await expect(send('r.csv', broken())).rejects.toThrow('the artifact is altered');
    expect(readdirSync(root)).toEqual([]);
  });

  it('a missing folder is a failure that the operator can repair', async () => {
    const gone = join(root, 'gone');
    expect(await fileSender(gone)('r.csv', chunks('x'))).toMatchObject({
      ok: false,
      isFinal: false,
      failed: 'the delivery folder is missing',
    });
    mkdirSync(gone);
    expect(await fileSender(gone)('r.csv', chunks('x'))).toMatchObject({ ok: true });
  });
});
