/** Backups and keys of subjects: what a backup without them tells nobody, what a restore says, and what is whole with them. */
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeBackup } from '../../../plane/data/backup.ts';
import { planeDoctor } from '../../../plane/serve/doctor.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { gov, govHere, serving, type Result, type Serving } from '../../cli/support/tool.ts';
import { event, send } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-subjects-'));
const at = (name: string): string => join(folder, name);
const env = { GOV_CONFIG_DIR: at('config'), GOV_MASTER_KEY: '5eaf00d0'.repeat(8) };
const tool = (...words: string[]): Promise<Result> => gov(words, { env, cwd: folder });
const running: Serving[] = [];
afterAll(async () => {
  for (const each of running) each.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function serve(dataDir: string, variables: Record<string, string> = env): Promise<Serving> {
  const plane = await serving(['plane', 'serve', '--data', dataDir], { env: variables, cwd: folder });
  running.push(plane);
  return plane;
}

const dataDir = at('plane');
let key = '';

async function record({ baseUrl }: Serving, person: string): Promise<string> {
  const body = event({ metadata: { person, note: `about ${person}` } });
  const answer = await send('POST', `${baseUrl}/events`, { key, body });
  expect(answer.status).toBe(201);
  return answer.body.eventId;
}

const read = ({ baseUrl }: Serving, eventId: string) => send('GET', `${baseUrl}/events/${eventId}`, { key });

const erase = async (
  { baseUrl }: Serving,
  person: string,
): Promise<{ keyDestroyed: boolean; erasureIds: string[] }> => {
  const asked = { env: { ...env, GOV_BASE_URL: baseUrl, GOV_API_KEY: key }, cwd: folder };
  const { stdout } = await gov(['erase', '--subject', person, '--yes', '-o', 'json'], asked);
  return JSON.parse(stdout) as { keyDestroyed: boolean; erasureIds: string[] };
};

const filesOf = (backup: string): string[] =>
  (
    JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8')) as { files: { path: string }[] }
  ).files.map(({ path }) => path);

let plane: Serving;
const ids: Record<string, string> = {};
beforeAll(async () => {
  await tool('plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off');
  const path = join(dataDir, 'plane.json');
  const file = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...file, subjectPointers: ['/metadata/person'] }));
  key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const { GOV_MASTER_KEY: _none, ...without } = env;
  const unsealed = await serve(dataDir, without);
  await record(unsealed, 'cara');
  await record(unsealed, 'dan');
  expect(await erase(unsealed, 'dan')).toMatchObject({ leaves: 1, keyDestroyed: false });
  await unsealed.stop();
  plane = await serve(dataDir);
  for (const person of ['ann', 'bob', 'cara']) ids[person] = await record(plane, person);
});

describe('a subject of whom some was recorded in clear', () => {
  it('a subject recorded partly in clear needs two erasures, and one reports the destroyed key', async () => {
    const erased = await erase(plane, 'cara');
    expect(erased).toMatchObject({
      leaves: 2,
      keyDestroyed: true,
      erasureIds: [expect.any(String), expect.any(String)],
    });
    const { body } = await send('GET', `${plane.baseUrl}/erasures`, { key });
    const said = body.data.map((each: { keyDestroyed: boolean; leaves: number }) => [
      each.keyDestroyed,
      each.leaves,
    ]);
    expect(said).toEqual([
      [true, 1],
      [false, 1],
      [false, 1],
    ]);
  });
});

describe('a backup without the keys of subjects', () => {
  it('a backup without subject keys leaves the keys out and reports that', async () => {
    const made = await tool('plane', 'backup', '--data', dataDir, '-O', at('bare'));
    expect(made).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('subjects.db, the keys of subjects'),
    });
    expect(filesOf(at('bare'))).not.toContain('subjects.db');
    const withKeys = await tool('plane', 'backup', '--data', dataDir, '-O', at('full'), '--with-keys');
    expect(withKeys.code).toBe(0);
    expect(filesOf(at('full'))).toContain('subjects.db');
    expect(await fsck({ dataDir: at('full'), env, deep: true })).toMatchObject({ ok: true, unopened: 0 });
  });

  it('a plane restored without subject keys serves once the newest keys exist, without erased values', async () => {
    expect(await erase(plane, 'ann')).toMatchObject({ leaves: 1, keyDestroyed: true });
    expect((await read(plane, ids['ann']!)).body.metadata).toEqual({});
    await plane.stop();

    const { GOV_MASTER_KEY: _none, ...without } = env;
    const words = ['plane', 'restore', 'bare', '--data', 'never', '--unproven'];
    expect(await gov(words, { env: without, cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('give the master key'),
    });
    const restored = await tool('plane', 'restore', 'bare', '--data', 'again', '--unproven', '-o', 'json');
    expect(restored).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /2 bodies about subjects are unreadable without[^]*put the plane’s keys\/ and its newest subjects.db into/,
      ),
    });
    expect(JSON.parse(restored.stdout)).toMatchObject({
      verdict: 'unproven',
      unopened: 2,
      lacksSubjects: true,
    });
    cpSync(join(dataDir, 'keys'), join(at('again'), 'keys'), { recursive: true });
    const looked = await govHere(['log', 'fsck', '--deep', '--data', at('again')], {
      env,
      cwd: folder,
      columns: 99,
    });
    expect(looked).toMatchObject({ code: 0, stdout: expect.stringContaining('skipped 2 bodies') });
    expect(await tool('plane', 'doctor', '--data', 'again')).toMatchObject({
      stdout: expect.stringContaining('put the newest copy of subjects.db there'),
    });
    const refused = await tool('plane', 'serve', '--data', 'again');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('put the newest copy of subjects.db there');
    expect(existsSync(join(at('again'), 'subjects.db'))).toBe(false);

    copyFileSync(join(dataDir, 'subjects.db'), join(at('again'), 'subjects.db'));
    const again = await serve(at('again'));
    expect((await read(again, ids['bob']!)).body.metadata).toMatchObject({ note: 'about bob' });
    expect(await read(again, ids['ann']!)).toMatchObject({ status: 503, body: { code: 'STORAGE_FAULT' } });
    expect(await erase(again, 'ann')).toMatchObject({ leaves: 1, keyDestroyed: true });
    const { status, body } = await read(again, ids['ann']!);
    expect([status, body.metadata, body.erased.length > 0]).toEqual([200, {}, true]);
    await again.stop();
    expect(await fsck({ dataDir: at('again'), env, deep: true })).toMatchObject({ ok: true, unopened: 0 });
  });
});

describe('a backup with the keys of subjects', () => {
  it('a backup with subject keys is consistent while events are recorded and erased', async () => {
    await plane.stop();
    const busy = await serve(dataDir);
    const stop = new AbortController();
    const post = async (path: string, body: object): Promise<void> => {
      expect([200, 201]).toContain((await send('POST', `${busy.baseUrl}${path}`, { key, body })).status);
    };
    const recording = (async () => {
      for (let no = 0; !stop.signal.aborted; no++) {
        await post('/events', event({ metadata: { person: `p${no}` } }));
        if (no % 3 === 2) await post('/erasures', { subject: `p${no - 1}` });
      }
    })();
    for (let round = 0; round < 5; round++) {
      const out = at(`busy${round}`);
      await planeBackup({ dataDir, out, withKeys: true });
      const { problems, unopened } = await fsck({ dataDir: out, env, deep: true });
      expect([problems, unopened]).toEqual([[], 0]);
    }
    stop.abort();
    await recording;
    await busy.stop();
    expect(await fsck({ dataDir, env, deep: true })).toMatchObject({ ok: true });
  });
});

describe('a plane that was stopped while somebody read the keys of subjects', () => {
  it('a stopped plane reports remains of subject keys until gov log compact removes them', async () => {
    const served = await serve(dataDir);
    await record(served, 'eve');
    const reader = new Database(join(dataDir, 'subjects.db'), { readonly: true });
    reader.exec('BEGIN; SELECT count(*) FROM subject_key');
    expect(await erase(served, 'eve')).toMatchObject({ keyDestroyed: true });
    let told = '';
    served.child.stderr?.on('data', (chunk: Buffer) => (told += chunk.toString()));
    await served.stop();
    expect(told).toContain('destroyed keys of subjects are still in subjects.db');
    const database = async () =>
      (await planeDoctor({ dataDir, env })).checks.find(({ name }) => name === 'database');
    expect(await database()).toMatchObject({
      status: 'warn',
      advice: expect.stringContaining('gov log compact'),
    });
    reader.close();
    expect(await tool('log', 'compact', '--data', dataDir)).toMatchObject({ code: 0 });
    expect(await database()).toMatchObject({ status: 'ok' });
  });
});
