/** The notice of a newer release: a real registry on this machine, and the tool on a real terminal. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkForUpdate } from '../../../src/cli/update/check.ts';
import { noticeUpdate } from '../../../src/cli/update/notice.ts';
import { cleanEnv, emptyDirectory, gov, runner } from '../support/tool.ts';

const dayMs = 86_400_000;
const start = Date.parse('2026-03-01T12:00:00Z');

let answer = { status: 200, body: '' };
const asked: string[] = [];
let registry: Server;
let address = '';
beforeAll(async () => {
  registry = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/npm`;
});
afterAll(() => registry.close());

let folder = '';
let env: Record<string, string> = {};
beforeEach(() => {
  asked.length = 0;
  answer = { status: 200, body: '{"name":"gov","version":"99.1.0"}' };
  folder = emptyDirectory();
  env = cleanEnv({ HOME: folder, GOV_CONFIG_DIR: folder, GOV_SYSTEM_CONFIG: '/dev/null/none' });
  settings({ updateNotice: 'true', updateRegistry: address });
});
const settings = (value: Record<string, string>): void =>
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ contexts: {}, settings: value }));
const stateFile = (): string => join(folder, '.local/state/gov/update.json');

/** What a command at this time prints, and what it starts. */
function after(ms: number): { printed: string; started: (readonly string[])[] } {
  const started: (readonly string[])[] = [];
  const stderr = new PassThrough();
  const io = { stdin: new PassThrough(), stdout: new PassThrough(), stderr, env, cwd: folder, now: () => ms };
  noticeUpdate(io, (words) => started.push(words));
  return { printed: stderr.read()?.toString() ?? '', started };
}
const check = (): Promise<void> => checkForUpdate({ env, now: () => start });
const line =
  /^gov 99\.1\.0 is available, this is \d+\.\d+\.\d+; no more notices: gov config set updateNotice false\n$/;

describe('the notice of a newer release', () => {
  it('asks in the background once a day, and a later command prints one line once a day', async () => {
    expect(after(start)).toEqual({ printed: '', started: [['__update']] });
    await check();
    expect(asked).toEqual(['GET /npm/gov/latest']);
    expect(after(start + 1000)).toEqual({ printed: expect.stringMatching(line), started: [] });
    expect(after(start + 2000)).toEqual({ printed: '', started: [] });
    expect(after(start + dayMs + 1000)).toEqual({
      printed: expect.stringMatching(line),
      started: [['__update']],
    });
  });

  it.each([
    ['an older release', { status: 200, body: '{"version":"0.0.9"}' }],
    ['a prerelease', { status: 200, body: '{"version":"99.0.0-beta.1"}' }],
    ['control characters', { status: 200, body: '{"version":"99.0.0\\u001b[31m"}' }],
    ['no JSON', { status: 200, body: '<html>' }],
    ['an error', { status: 500, body: '{"version":"99.0.0"}' }],
    ['a redirect', { status: 302, body: '{"version":"99.0.0"}' }],
    ['a megabyte and more', { status: 200, body: `{"version":"99.0.0","x":"${'x'.repeat(2 ** 20)}"}` }],
  ])('says nothing after %s', async (_, given) => {
    answer = given;
    await check();
    expect(asked).toHaveLength(1);
    expect(after(start).printed).toBe('');
  });

  it('is silent where nobody listens, where the state cannot be written, and where the file is broken', async () => {
    settings({ updateNotice: 'true', updateRegistry: 'http://127.0.0.1:1' });
    await check();
    expect(after(start).started).toHaveLength(1);
    writeFileSync(stateFile(), 'broken');
    expect(after(start).started).toHaveLength(1);
    env = { ...env, XDG_STATE_HOME: '/dev/null' };
    expect(after(start)).toEqual({ printed: '', started: [] });
    writeFileSync(join(folder, 'config.json'), '{');
    expect(after(start)).toEqual({ printed: '', started: [] });
  });

  it.each<[string, Record<string, string>]>([
    ['nothing is set', {}],
    ['it is off', { updateNotice: 'false', updateRegistry: 'http://127.0.0.1:1' }],
    ['no registry is named', { updateNotice: 'true' }],
  ])('asks nobody and writes nothing where %s', async (_, value) => {
    settings(value);
    await check();
    expect(after(start)).toEqual({ printed: '', started: [] });
    expect([asked, existsSync(stateFile())]).toEqual([[], false]);
  });

  it.each([
    ['updateNotice', 'yes', /expected one of true, false/],
    ['updateRegistry', 'ftp://x', /expected text that matches/],
    ['updateRegistry', 'https://me:secret@npm.example', /expected text that matches/],
  ])('config set refuses %s %s', async (key, value, message) => {
    const { code, stderr } = await gov(['config', 'set', key, value], { env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it('config set says that a registry is missing', async () => {
    settings({});
    const { code, stderr } = await gov(['config', 'set', 'updateNotice', 'true'], { env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('gov config set updateRegistry URL')]);
  });
});

/** `script` gives a command a terminal for standard output and error. */
const hasScript = spawnSync('script', ['--version']).status === 0;

describe.skipIf(!hasScript)('the tool on a terminal', () => {
  const onTerminal = (words: string, more: Record<string, string> = {}): string => {
    const text = `'${process.execPath}' '${runner}' ${words}`;
    const { stdout } = spawnSync('script', ['-qec', text, '/dev/null'], {
      env: { ...env, ...more },
      input: '',
    });
    return stdout.toString();
  };
  const remember = (): void => {
    mkdirSync(join(folder, '.local/state/gov'), { recursive: true });
    writeFileSync(stateFile(), JSON.stringify({ askedMs: Date.now(), toldMs: 0, latest: '99.1.0' }));
  };

  it('prints the line after the output of a command, and the process behind it stores the answer', async () => {
    remember();
    expect(onTerminal('version')).toMatch(/^gov \d\S* \(build \S+\)\r\ngov 99\.1\.0 is available/);
    await gov(['__update'], { env });
    expect([asked, JSON.parse(readFileSync(stateFile(), 'utf8')).latest]).toEqual([
      ['GET /npm/gov/latest'],
      '99.1.0',
    ]);
  });

  it('starts the question itself, and does not wait for it', async () => {
    const isAsked = new Promise<void>((resolve) => registry.once('request', () => resolve()));
    expect(onTerminal('version')).not.toContain('available');
    await isAsked;
    expect(asked).toEqual(['GET /npm/gov/latest']);
  });

  it.each<[string, string, Record<string, string>]>([
    ['in CI', 'version', { CI: 'true' }],
    ['with --quiet', 'version -q', {}],
    ['in a pipe', 'version | cat', {}],
  ])('prints nothing %s', (_, words, more) => {
    remember();
    const text = onTerminal(words, more);
    expect(text).toContain('gov');
    expect(text).not.toContain('available');
  });
});
