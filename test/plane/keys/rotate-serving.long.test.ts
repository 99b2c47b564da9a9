/** Keys that change beside a serving plane, while it records and proves: nothing is signed by others than the log says. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { planeKeys } from '../../../plane/keys/own.ts';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import { askServing } from '../../../plane/keys/rotate-serving.ts';
import { planeServe, type RunningPlane } from '../../../plane/serve/start.ts';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { parseTrust } from '../../../src/core/note/checkpoint.ts';
import { splitNote } from '../../../src/core/note/signed.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { rememberHeads } from '../../../src/store/file/copies.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { govHere } from '../../cli/support/tool.ts';
import { checkedCalls, event } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-rotateserving-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
let dataDir: string;
let plane: RunningPlane;
let call: (
  method: string,
  path: string,
  body?: unknown,
) => ReturnType<ReturnType<typeof checkedCalls>['call']>;

async function serve(): Promise<void> {
  plane = await planeServe({ dataDir, log: silentLog, env: {}, overloadDelayMs: 60_000 });
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const checked = checkedCalls(plane.baseUrl);
  call = (method, path, body) => checked.call(method, path, body === undefined ? { key } : { key, body });
}
beforeEach(async () => {
  dataDir = join(folder, `${(made += 1)}`);
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  await serve();
});
afterEach(() => plane.close());

const trustOf = () => parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8'));
const idsOf = (vkeys: readonly string[]): number[] => vkeys.map((vkey) => parseVerifierKey(vkey).keyId);
const signedBy = async (): Promise<number[]> =>
  splitNote((await call('GET', '/log/checkpoint')).text).signatures.map(({ keyId }) => keyId);
const shown = async (): Promise<string[]> => (await call('GET', '/log/key')).text.trim().split('\n');

async function prove(runId: string): Promise<Buffer> {
  expect((await call('POST', '/events', event({ runId }))).status).toBe(201);
  const asked = { runId, composed: { layers: ['log_inclusion'] } };
  const { status, body } = await call('POST', '/proofs', asked);
  expect(status).toBe(201);
  return (await call('GET', `/proofs/${body.proofId}/bundle`)).bytes;
}

const orderOf = (members: object): string =>
  JSON.stringify({ id: 'b'.repeat(32), order: 'rotate', untilMs: Date.now() + 20_000, ...members });

/** Records and proves until it is stopped; the bundles. */
function busy(): { stop(): Promise<Buffer[]> } {
  const bundles: Buffer[] = [];
  const stopped = new AbortController();
  const lane = async (name: number): Promise<void> => {
    for (let n = 0; !stopped.signal.aborted; n++) bundles.push(await prove(`busy-${name}-${n}`));
  };
  const lanes = Promise.all([0, 1, 2, 3].map(lane));
  return {
    stop: async () => {
      stopped.abort();
      await lanes;
      return bundles;
    },
  };
}

describe('keys of a plane that serves', { timeout: 120_000 }, () => {
  it('a serving plane rotates and retires keys while it records and proves', async () => {
    const old = trustOf().keys.map(({ text }) => text);
    const work = busy();
    await prove('before');
    const rotated = await rotateKeys(dataDir);
    expect(rotated).toMatchObject({ change: 'add', inForce: [...old, ...rotated.keys], retired: [] });
    expect(await signedBy()).toEqual(idsOf([...old, ...rotated.keys]));
    expect(await shown()).toEqual([...old, ...rotated.keys]);
    await prove('between');
    await expect(rotateKeys(dataDir)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('gov plane keys retire'),
    });
    const retired = await retireKeys(dataDir);
    expect(retired).toMatchObject({ change: 'retire', keys: old, inForce: rotated.keys, retired: old });
    expect(retired.leaf).toBeGreaterThan(rotated.leaf);
    expect(await signedBy()).toEqual(idsOf(rotated.keys));
    expect(await shown()).toEqual([...rotated.keys, ...old]);
    await prove('after');
    const bundles = await work.stop();
    const trust = trustOf();
    for (const bundle of bundles) expect(verifyBundle(bundle, trust)).toMatchObject({ verified: true });
    expect(readdirSync(join(dataDir, 'keys')).filter((name) => /part|next|tmp/.test(name))).toEqual([]);
    await plane.close();
    // each checkpoint by the keys in force at its size
    expect((await fsck({ dataDir, deep: true, env: {} })).problems).toEqual([]);
    await serve();
    expect(await signedBy()).toEqual(idsOf(rotated.keys));
  });

  it('a plane signs with the keys of its log, and with none after its keys failed', async () => {
    const { projectId, origin } = readPlaneFile(join(dataDir, 'plane.json'));
    const reader = openReader(storeFiles(dataDir).main);
    try {
      const keys = await planeKeys(reader, { dataDir, projectId, origin });
      const first = keys.signers(origin).map(({ verifierKey }) => verifierKey);
      const { keys: added } = await rotateKeys(dataDir);
      expect(keys.signers(origin)).toHaveLength(first.length);
      await keys.reload();
      expect(keys.signers(origin).map(({ verifierKey }) => verifierKey)).toEqual([...first, ...added]);
      keys.fail(new GovError('STORAGE_FAULT', 'others'));
      expect(() => keys.signers(origin)).toThrow('others');
      expect(() => keys.telemetrySigners(origin)).toThrow('others');
    } finally {
      reader.close();
    }
  });

  it(`keys change within ${limits.keyOrderSeconds} s, or the order is withdrawn`, async () => {
    const run = readFileSync(join(dataDir, 'run.json'), 'utf8');
    await plane.close();
    let atMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => atMs);
    try {
      let isOver = false;
      const asked = askServing(dataDir, 'rotate', process.pid).finally(() => (isOver = true));
      atMs = limits.keyOrderSeconds * 1000 - 1;
      const looks = clock.mock.calls.length;
      await vi.waitUntil(() => clock.mock.calls.length > looks + 3, { timeout: 20_000, interval: 20 });
      expect(isOver).toBe(false);
      atMs += 1;
      await expect(asked).rejects.toThrow(/within 30 s.*or stop it/);
    } finally {
      clock.mockRestore();
    }
    expect(existsSync(join(dataDir, 'keys', 'order.part'))).toBe(false);
    // what a crash left, with a process that has its id, is nobody to wait for
    writeFileSync(join(dataDir, 'run.json'), run);
    expect(await rotateKeys(dataDir)).toMatchObject({ change: 'add' });
  });

  it('two key orders at the same time change the keys once, and each caller learns its result', async () => {
    const before = await shown();
    const both = await Promise.allSettled([rotateKeys(dataDir), rotateKeys(dataDir)]);
    const done = both.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const refused = both.flatMap((each) => (each.status === 'rejected' ? [each.reason as GovError] : []));
    expect(done).toHaveLength(1);
    expect(refused.map(({ code }) => code)).toEqual(['CONFLICT']);
    expect(refused[0]!.message).toMatch(/no other order|gov plane keys retire/);
    expect(await shown()).toEqual([...before, ...done[0]!.keys]);
    expect(readdirSync(join(dataDir, 'keys')).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('a rotation is refused and changes no key when the log is no longer signed', async () => {
    const before = await shown();
    const { origin } = readPlaneFile(join(dataDir, 'plane.json'));
    const size = Number((await call('GET', '/log/checkpoint')).text.split('\n')[1]);
    // as a witness or a service may show it while the plane serves
    rememberHeads(dataDir, [{ origin, size: 1000, root: Buffer.alloc(32, 1), have: size }]);
    await expect(rotateKeys(dataDir)).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringContaining('signs nothing more of it'),
    });
    expect(await shown()).toEqual(before);
    expect(readdirSync(join(dataDir, 'keys')).filter((name) => /part|next|log\.2/.test(name))).toEqual([]);
    const { body } = await call('GET', '/events');
    expect(JSON.stringify(body)).not.toContain('gov.key/1');
  });

  it('a change whose files failed is reported, and the plane signs nothing until a restart', async () => {
    const { keys: added } = await rotateKeys(dataDir);
    const retired = join(dataDir, 'keys/retired');
    writeFileSync(retired, 'no folder');
    const { change, inForce, warning } = await retireKeys(dataDir);
    expect([change, inForce]).toEqual(['retire', added]);
    expect(warning).toMatch(/load the keys in force, which failed; the plane signs nothing until a restart/);
    expect((await call('POST', '/proofs', { runId: 'none' })).status).toBeGreaterThan(201);
    await plane.close();
    rmSync(retired);
    await serve();
    await expect.poll(signedBy, { timeout: 20_000 }).toEqual(idsOf(added));
    expect(readdirSync(retired)).toEqual(['log.ed25519.pem', 'log.mldsa44.pem']);
  });

  it.each([
    ['a folder', (path: string) => mkdirSync(join(path, 'inside'), { recursive: true })],
    ['a pipe', (path: string) => execFileSync('mkfifo', [path])],
    ['null', (path: string) => writeFileSync(path, 'null')],
    ['another order', (path: string) => writeFileSync(path, orderOf({ order: 'destroy' }))],
    ['an order without an end', (path: string) => writeFileSync(path, orderOf({ untilMs: undefined }))],
    ['a path for an id', (path: string) => writeFileSync(path, orderOf({ id: '../../x' }))],
  ])('a plane keeps its keys and keeps serving when %s is in the place of an order', async (_, place) => {
    const before = await shown();
    const order = join(dataDir, 'keys/order.part');
    // an answer whose asker is gone, to a place that is gone
    const id = 'a'.repeat(32);
    symlinkSync('/nowhere', join(dataDir, `keys/answer-${id}.part`));
    writeFileSync(join(dataDir, `keys/order-${id}.part`), '');
    utimesSync(join(dataDir, `keys/order-${id}.part`), 1, 1);
    place(order);
    await expect.poll(() => existsSync(order)).toBe(false);
    expect(await shown()).toEqual(before);
    expect(await rotateKeys(dataDir)).toMatchObject({ change: 'add', warning: null });
    expect(existsSync(join(dataDir, `keys/order-${id}.part`))).toBe(false);
  });

  it('keys do not change by an order whose caller no longer waits', async () => {
    const order = join(dataDir, 'keys', 'order.part');
    const before = await shown();
    writeFileSync(order, JSON.stringify({ id: 'x', order: 'rotate', untilMs: Date.now() - 1 }), {
      mode: 0o600,
    });
    await expect.poll(() => existsSync(order)).toBe(false);
    const { code, stdout } = await govHere(['plane', 'keys', 'rotate', '--data', dataDir, '-o', 'json'], {
      env: { GOV_CONFIG_DIR: join(folder, 'config') },
    });
    const { keys } = JSON.parse(stdout) as { keys: string[] };
    expect([code, await shown()]).toEqual([0, [...before, ...keys]]); // one pair more, not two
  });
});
