/** Where `-O` and its like lead: files are replaced whole, all else is written to and stays what it is. */
import { execFileSync, spawn } from 'node:child_process';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isStream, openOutput, writeOutput } from '../../../src/cli/terminal/output-file.ts';
import { readInput } from '../../../src/cli/terminal/input.ts';
import { processIo } from '../../../src/cli/terminal/io.ts';
import { reserveSecretFile } from '../../../src/cli/context/secret-file.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { Invocation } from '../../../src/cli/context/command.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { ended, govHere, shell } from '../support/tool.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-files-'));
const at = (name: string): string => join(folder, name);
const dataDir = at('plane');
const token = `gov_enr_${'a'.repeat(38)}`;
const env = { GOV_CONFIG_DIR: at('config'), HOME: folder };
beforeAll(async () => {
  await planeInit({ dataDir });
  execFileSync('mkfifo', [at('pipe')]);
  for (const name of ['null', 'stdout', 'zero']) symlinkSync(`/dev/${name}`, at(name));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const asking = ['plane', 'enroll', '--data', dataDir, '--request'];
/** Writes a request, which is some hundred bytes of JSON. */
const ask = (place: string, words: readonly string[] = ['--token', token, '--force']) =>
  govHere([...asking, place, ...words], { cwd: folder, env });
const call = (signal = new AbortController().signal) =>
  ({ io: { ...processIo(), cwd: folder }, signal }) as unknown as Invocation;

describe('what is no file', () => {
  it('a command writes its output to a named pipe and waits for the reader', async () => {
    const asked = ask('pipe');
    const read = ended(spawn('sh', ['-c', `sleep 0.1; cat ${at('pipe')}`]));
    expect((await asked).code).toBe(0);
    expect(JSON.parse((await read).stdout)).toMatchObject({ origin: expect.any(String) });
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true);
  });

  it('a command writes more bytes than a pipe can buffer to a slow reader', async () => {
    const bytes = Buffer.alloc(1_000_000, 'x');
    const read = ended(spawn('sh', ['-c', `(sleep 0.2; cat) < ${at('pipe')} | wc -c`]));
    await writeOutput('pipe', bytes, call());
    expect(Number((await read).stdout)).toBe(bytes.length);
  });

  it('a command stops waiting for a pipe at the end, and reports a reader that left', async () => {
    const ending = new AbortController();
    const waiting = openOutput('pipe', call(ending.signal));
    ending.abort(new Error('over'));
    await expect(waiting).rejects.toThrow('over');

    const read = ended(spawn('sh', ['-c', `head -c 1 ${at('pipe')}`]));
    const output = await openOutput('pipe', call());
    await output.write(Buffer.from('x'));
    await read;
    await expect(output.write(Buffer.from('y'))).rejects.toThrow(`cannot write ${at('pipe')}`);
    output.close();
  });

  it('an output device stays a device, also behind a link', async () => {
    expect(await ask('null')).toMatchObject({ code: 0, stdout: '' });
    expect(lstatSync(at('null')).isSymbolicLink()).toBe(true);
    expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('each name of standard output appends to it and keeps the bytes before', async () => {
    writeFileSync(at('log'), 'before\n');
    const words = `--data ${dataDir} --token ${token} --force`;
    const line = ['/dev/stdout', '/proc/self/fd/1', 'stdout', '/dev/fd/3']
      .map((place) => `gov plane enroll --request ${place} ${words}`)
      .join(' && ');
    const { code, stderr } = await shell(`{ ${line}; } >> log 3>> log`, { cwd: folder, env });
    // of standard output nothing is remarked, as with -
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^wrote \/dev\/fd\/3; .*\n$/)]);
    const lines = readFileSync(at('log'), 'utf8').trimEnd().split('\n');
    expect([lines.length, lines[0]]).toEqual([5, 'before']);
    expect(lstatSync(at('stdout')).isSymbolicLink()).toBe(true);
    expect((await ask('stdout')).stdout).toContain('"origin"');
  });

  it('an output that takes no bytes is refused', async () => {
    const server = createServer().listen(at('socket'));
    mkdirSync(at('folder'));
    expect(await ask('folder')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('got a directory'),
    });
    expect(await ask('socket')).toMatchObject({ code: 2, stderr: expect.stringContaining('got a socket') });
    server.close();
  });

  it('a pipe or a device takes no secret, and no secret replaces it', () => {
    for (const place of ['pipe', 'null', 'stdout'])
      expect(() => reserveSecretFile(at(place), { force: true })).toThrow('expected a file for the secret');
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true);
  });
});

describe('a file', () => {
  it('an output file is replaced whole, also through a link, and a failure leaves the old file', async () => {
    writeFileSync(at('old'), 'old');
    symlinkSync('old', at('link'));
    symlinkSync('nowhere', at('dangling'));
    for (const name of ['link', 'dangling']) {
      expect(isStream(name, call())).toBe(false);
      await writeOutput(name, Buffer.from('new'), call(), 0o600);
      expect([readFileSync(at(name), 'utf8'), lstatSync(at(name)).mode & 0o777]).toEqual(['new', 0o600]);
    }
    const output = await openOutput('old', call());
    expect(readdirSync(folder)).toContain('old.part');
    output.close();
    expect([readFileSync(at('old'), 'utf8'), readdirSync(folder).includes('old.part')]).toEqual([
      'old',
      false,
    ]);
  });

  it('an output never overwrites the token file that is read, under any of its names', async () => {
    writeFileSync(at('token'), token, { mode: 0o600 });
    linkSync(at('token'), at('other'));
    symlinkSync('token', at('third'));
    for (const name of ['token', './token', 'other', 'third'])
      expect(await ask(name, ['--token-file', 'token', '--force'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--request: expected another file than token'),
      });
    expect(readFileSync(at('token'), 'utf8')).toBe(token);
  });
});

describe('what is read', () => {
  it('an input is limited in size, whatever its file size says', async () => {
    const most = limits.graphBodyBytes;
    writeFileSync(at('most'), Buffer.alloc(most));
    writeFileSync(at('more'), Buffer.alloc(most + 1));
    expect((await readInput('most', call())).bytes).toHaveLength(most);
    const refused = `expected at most ${most} bytes, got more`;
    await expect(readInput('more', call())).rejects.toThrow(`more: ${refused}`);
    const answered = await govHere(['plane', 'enroll', '--data', dataDir, '--answer', at('zero')], { env });
    expect([answered.code, answered.stderr]).toEqual([2, expect.stringContaining(refused)]);
  });

  it('an input may be a named pipe', async () => {
    const read = readInput('pipe', call());
    await ended(spawn('sh', ['-c', `printf '{}' > ${at('pipe')}`]));
    expect(Buffer.from((await read).bytes).toString()).toBe('{}');
  });
});
