/**
 * Backups of a plane that serves and records meanwhile, and what a restore proves: with the tool, in processes of their
 * own.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { planeBackup } from '../../../plane/data/backup.ts';
import type { Manifest } from '../../../plane/data/manifest.ts';
import { planeRestore } from '../../../plane/data/restore.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import {
  cleanEnv,
  ended,
  gov,
  govHere,
  type Result,
  runner,
  serving,
  type Serving,
} from '../../cli/support/tool.ts';
import { event, send } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-backup-'));
const env = { GOV_CONFIG_DIR: join(folder, 'config') };
const at = (name: string): string => join(folder, name);
/** In a process of its own where it would serve: the others are quicker in this one. */
const tool = (...words: string[]): Promise<Result> =>
  (words[1] === 'serve' ? gov : govHere)(words, { env, cwd: folder });
const running: Serving[] = [];
afterAll(async () => {
  for (const each of running) each.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function serve(dataDir: string): Promise<Serving> {
  const plane = await serving(['plane', 'serve', '--data', dataDir], { env, cwd: folder });
  running.push(plane);
  return plane;
}

const keyOf = (dataDir: string): string => readFileSync(join(dataDir, 'local.key'), 'utf8').trim();

async function record({ baseUrl }: Serving, key: string, events = 1): Promise<void> {
  for (let n = 0; n < events; n++) {
    const { status } = await send('POST', `${baseUrl}/events`, { key, body: event({ runId: 'kept' }) });
    expect(status).toBe(201);
  }
}

/** The newest signed checkpoint, as a client keeps it: a proof makes the plane sign what it has. */
async function checkpointOf({ baseUrl }: Serving, key: string): Promise<string> {
  const made = await send('POST', `${baseUrl}/proofs`, { key, body: { runId: 'kept' } });
  expect(made.status).toBe(201);
  return (await send('GET', `${baseUrl}/log/checkpoint`, { key })).text;
}

const manifestOf = (backup: string): Manifest =>
  JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8')) as Manifest;

describe('a plane that serves', () => {
  const dataDir = at('plane');
  let plane: Serving;
  let known: string;

  beforeAll(async () => {
    await tool('plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off');
    plane = await serve(dataDir);
    await record(plane, keyOf(dataDir), 5);
  });

  it('a backup of a serving plane is whole and of one moment while the plane records', async () => {
    const stop = new AbortController();
    const recording = (async () => {
      while (!stop.signal.aborted) await record(plane, keyOf(dataDir));
    })();
    const made = await tool('plane', 'backup', '--data', dataDir, '--out', at('moving'), '--with-keys');
    stop.abort();
    await recording;
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('contains the plane’s keys') });
    const { files, logs } = manifestOf(at('moving'));
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['gov.db', 'heads.db', 'plane.json', 'trust', 'keys/store.key', 'local.key']),
    );
    expect(files.some(({ path }) => ['lock', 'reserve', 'run.json', 'probe'].includes(path))).toBe(false);
    expect(logs[0]?.size).toBeGreaterThan(7);
    for (const name of readdirSync(at('moving'), { recursive: true, encoding: 'utf8' })) {
      expect(statSync(join(at('moving'), name)).mode & 0o077, name).toBe(0);
    }
    expect((await fsck({ dataDir: at('moving'), deep: true })).problems).toEqual([]);
  });

  it('a backup leaves out the keys unless they are requested, and reports that', async () => {
    known = await checkpointOf(plane, keyOf(dataDir));
    const made = await tool('plane', 'backup', '--data', dataDir, '-O', at('bare'), '-o', 'json');
    expect(made).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/not in the copy: .*keys\/log\.ed25519/),
    });
    expect(JSON.parse(made.stdout)).toMatchObject({
      withKeys: false,
      schema: 'gov.backup/1',
      out: at('bare'),
    });
    expect(existsSync(join(at('bare'), 'keys'))).toBe(false);
    expect(existsSync(join(at('bare'), 'local.key'))).toBe(false);
  });

  it('a backup does not overwrite an existing file or folder', async () => {
    expect(await tool('plane', 'backup', '--data', dataDir, '-O', at('bare'))).toMatchObject({ code: 6 });
  });

  it('a restore proves that no signed record is missing, and the plane serves once its keys exist', async () => {
    writeFileSync(at('known.txt'), known);
    const words = [
      'plane',
      'restore',
      'bare',
      '--data',
      'whole',
      '--last-checkpoint',
      'known.txt',
      '-o',
      'json',
    ];
    const restored = await tool(...words);
    expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining('keys/') });
    expect(JSON.parse(restored.stdout)).toMatchObject({
      verdict: 'proven',
      known: [{ from: 'known.txt', verdict: 'contained', missing: 0 }],
    });
    const without = await tool('plane', 'serve', '--data', at('whole'));
    expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('expected a key at') });
    cpSync(join(dataDir, 'keys'), join(at('whole'), 'keys'), { recursive: true });
    const again = await serve(at('whole'));
    await record(again, keyOf(dataDir));
    await again.stop();
    expect((await fsck({ dataDir: at('whole'), deep: true })).problems).toEqual([]);
  });

  it('a restore requires a checkpoint or the flag --unproven', async () => {
    const words = ['plane', 'restore', 'bare', '--data', 'none'];
    expect(await tool(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining('--unproven') });
    expect(await tool(...words, '--unproven', '--last-checkpoint', 'known.txt')).toMatchObject({ code: 2 });
    const unproven = await tool(...words, '--unproven', '-o', 'json');
    expect([unproven.code, JSON.parse(unproven.stdout).verdict]).toEqual([0, 'unproven']);
  });

  it('a restore of an older copy reports what is missing, and the plane does not serve or sign', async () => {
    await record(plane, keyOf(dataDir), 3);
    const newest = await checkpointOf(plane, keyOf(dataDir));
    writeFileSync(at('newest.txt'), newest);
    const words = ['plane', 'restore', 'moving', '--data', 'behind', '--last-checkpoint', 'newest.txt'];
    const restored = await tool(...words, '-o', 'json');
    const [size] = newest.split('\n').slice(1);
    const has = manifestOf(at('moving')).logs[0]?.size ?? 0;
    expect([restored.code, JSON.parse(restored.stdout)]).toMatchObject([
      3,
      { verdict: 'behind', known: [{ have: has, size: Number(size), missing: Number(size) - has }] },
    ]);
    expect(await tool('plane', 'serve', '--data', at('behind'))).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('would make a second history'),
    });
    expect(await tool('plane', 'serve', '--data', at('behind'), '--rebuild-heads')).toMatchObject({
      code: 6,
    });
    // it can be read and checked all the same, but for what it was told of
    const { problems } = await fsck({ dataDir: at('behind'), deep: true });
    expect(problems.map(({ kind }) => kind)).toEqual(['heads_mismatch']);
    // and is no source of backups that look whole
    await expect(planeBackup({ dataDir: at('behind'), out: at('never') })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(existsSync(at('never'))).toBe(false);
  });

  it('a restore takes checkpoints from the heads.db of a lost machine and from standard input', async () => {
    await plane.stop();
    const heads = join(dataDir, 'heads.db');
    const words = ['plane', 'restore', 'moving', '--data'];
    const lost = await tool(...words, 'lost', '--last-checkpoint', heads, '-o', 'json');
    expect([lost.code, JSON.parse(lost.stdout).verdict]).toEqual([3, 'behind']);
    const piped = await govHere([...words, 'piped', '--last-checkpoint', '-', '-o', 'table'], {
      env,
      cwd: folder,
      input: readFileSync(at('newest.txt')),
    });
    expect(piped).toMatchObject({ code: 3, stdout: expect.stringMatching(/more than here/) });
    const made = await tool('plane', 'backup', '--data', dataDir, '-O', 'last', '--with-keys');
    expect(made.code).toBe(0);
    const whole = await tool(
      'plane',
      'restore',
      'last',
      '--data',
      'moved',
      '--last-checkpoint',
      heads,
      '-o',
      'table',
    );
    expect(whole).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no entry of the given checkpoints'),
    });
  });

  it('a restore finds checkpoints in usage reports and receipts', async () => {
    const note = readFileSync(at('newest.txt'), 'utf8');
    const report = JSON.stringify({ log: { checkpoint: 'x' }, auditLog: { checkpoint: note } });
    const restored = await gov(
      ['plane', 'restore', 'moving', '--data', 'reported', '--last-checkpoint', '-'],
      {
        env,
        cwd: folder,
        input: `${JSON.stringify({ receipt: 1 })}\n${report}\n`,
      },
    );
    expect(restored.code).toBe(3);
  });

  it('a restore refuses a checkpoint of another history of the same log', async () => {
    // two planes go on from one backup: the second of them is what must never be
    cpSync(at('last'), at('fork'), { recursive: true });
    await planeRestore({ from: at('fork'), dataDir: at('one'), lastCheckpoints: [] });
    await planeRestore({ from: at('fork'), dataDir: at('other'), lastCheckpoints: [] });
    const [one, other] = [await serve(at('one')), await serve(at('other'))];
    await record(one, keyOf(dataDir), 2);
    await record(other, keyOf(dataDir), 2);
    writeFileSync(at('one.txt'), await checkpointOf(one, keyOf(dataDir)));
    await record(other, keyOf(dataDir), 9);
    await Promise.all([one.stop(), other.stop()]);
    await planeBackup({ dataDir: at('other'), out: at('otherback') });
    const words = ['plane', 'restore', 'otherback', '--data', 'never', '--last-checkpoint', 'one.txt'];
    expect(await tool(...words)).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('of another history'),
    });
    expect(existsSync(at('never'))).toBe(false);
  });
});

describe('a backup that is killed', () => {
  it('a killed backup leaves a whole copy or none, and the plane unchanged', async () => {
    const dataDir = at('killed');
    await tool('plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off');
    const stages = [/./, /^plane\.json$/, /\.db$/, /^manifest\.json$/];
    for (const [round, stage] of stages.entries()) {
      const out = `cut-${round}`;
      const words = ['plane', 'backup', '--data', dataDir, '--out', out, '--with-keys'];
      const child = spawn(process.execPath, [runner, ...words], { cwd: folder, env: cleanEnv(env) });
      const end = ended(child);
      const isReached = (): boolean => {
        const draft = readdirSync(folder).find((name) => name.startsWith(out));
        return (
          draft !== undefined &&
          existsSync(at(draft)) &&
          readdirSync(at(draft)).some((name) => stage.test(name))
        );
      };
      await vi.waitUntil(() => isReached() || child.exitCode !== null, { timeout: 20_000, interval: 1 });
      child.kill('SIGKILL');
      await end;
      if (!existsSync(at(out))) continue;
      const whole = planeRestore({ from: at(out), dataDir: at(`from-${out}`), lastCheckpoints: [] });
      await expect(whole).resolves.toMatchObject({ verdict: 'unproven' });
    }
    expect((await fsck({ dataDir, deep: true })).problems).toEqual([]);
  });
});

describe('a damaged backup', () => {
  const dataDir = at('small');
  beforeAll(async () => {
    await tool('plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off');
    await planeBackup({ dataDir, out: at('good'), withKeys: true });
  });

  const restore = (from: string) =>
    planeRestore({ from, dataDir: at('restored'), lastCheckpoints: [] }).finally(() => {
      expect(existsSync(at('restored'))).toBe(false);
    });
  const altered = (change: (backup: string) => void): string => {
    rmSync(at('bad'), { recursive: true, force: true });
    cpSync(at('good'), at('bad'), { recursive: true });
    change(at('bad'));
    return at('bad');
  };
  const flip = (path: string, where: number): void => {
    const bytes = readFileSync(path);
    bytes[where] = (bytes[where] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  };

  it('a backup with one changed bit in any file is refused and leaves no files behind', async () => {
    for (const { path, bytes } of manifestOf(at('good')).files) {
      const bad = altered((backup) => flip(join(backup, path), Math.floor(bytes / 2)));
      await expect(restore(bad), path).rejects.toMatchObject({
        code: expect.stringMatching(/^(STORAGE_FAULT|VALIDATION_ERROR|INVALID_SIGNATURE)$/),
      });
    }
  });

  it('a backup with a missing or truncated file is refused', async () => {
    for (const change of [
      (backup: string) => rmSync(join(backup, 'attestation.pub')),
      (backup: string) => writeFileSync(join(backup, 'gov.db'), ''),
      (backup: string) => rmSync(join(backup, 'manifest.note')),
    ]) {
      await expect(restore(altered(change))).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
    }
    await expect(restore(at('config'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('a backup with a changed manifest is refused because the signature does not match', async () => {
    const bad = altered((backup) => {
      const path = join(backup, 'manifest.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"createdAt": "20', '"createdAt": "21'));
    });
    await expect(restore(bad)).rejects.toMatchObject({ code: 'INVALID_SIGNATURE' });
  });

  it('a backup with a path that leads out of its directory is refused', async () => {
    const bad = altered((backup) => {
      const path = join(backup, 'manifest.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"attestation.pub"', '"../attestation.pub"'));
    });
    await expect(restore(bad)).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringContaining('/files/'),
    });
  });

  it('a backup is refused under the trust of another plane', async () => {
    await tool('plane', 'init', '--data', at('stranger'), '--listen', '127.0.0.1:0');
    const trust = readFileSync(join(at('stranger'), 'trust'), 'utf8');
    await expect(
      planeRestore({ from: at('good'), dataDir: at('restored'), lastCheckpoints: [], trust }),
    ).rejects.toMatchObject({ code: 'INVALID_SIGNATURE' });
  });

  it('a restore names the given text that is not a checkpoint of the backup', async () => {
    const given = (text: string) =>
      planeRestore({
        from: at('good'),
        dataDir: at('restored'),
        lastCheckpoints: [{ name: 'given', bytes: Buffer.from(text) }],
      });
    await expect(given('x')).rejects.toThrow(/given: expected a signed checkpoint of gov\.local\//);
    const { checkpoint } = manifestOf(at('good')).logs[0] ?? {};
    await expect(given((checkpoint ?? '').replace('\n3\n', '\n4\n'))).rejects.toMatchObject({
      code: 'INVALID_SIGNATURE',
    });
    expect(existsSync(at('restored'))).toBe(false);
  });
});
