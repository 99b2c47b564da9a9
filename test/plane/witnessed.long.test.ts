/** Two planes that witness each other: cosigned checkpoints and proofs, witnesses that are gone, and an older copy. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { planeServe, type RunningPlane } from '../../plane/serve/start.ts';
import {
  formatTrust,
  openTrustedCheckpoint,
  parseTrust,
  type Trust,
} from '../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../src/core/note/key.ts';
import { verifyExport } from '../../src/core/exports/verify.ts';
import { verifyBundle } from '../../src/core/proofs/verify.ts';
import { addLogKeys, type RunningWitness, witnessInit, witnessServe } from '../../src/host/witness/server.ts';
import { witnessName } from '../../src/host/witness/answer.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { govHere } from '../cli/support/tool.ts';
import { checkedCalls, event } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';
import { exportEnd } from '../service/support/filled.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-witnessed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.close();
});

interface Site {
  readonly name: string;
  readonly dataDir: string;
  readonly witnessDir: string;
  /** Ed25519, of its witness. */
  readonly vkey: string;
}

/** A plane, and a witness beside it. */
async function newSite(name: string): Promise<Site> {
  const [dataDir, witnessDir] = [join(folder, name), join(folder, `${name}-witness`)];
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  const { verifierKeys } = await witnessInit({ dataDir: witnessDir, name: `${name}.example/w` });
  return { name, dataDir, witnessDir, vkey: verifierKeys[0] ?? '' };
}

const trustOf = ({ dataDir }: Site): Trust => parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8'));
const witnessedBy = (site: Site, ...others: Site[]): Trust => ({
  ...trustOf(site),
  witnesses: others.map(({ vkey }) => parseVerifierKey(vkey)),
  quorum: others.length,
});
const learn = (witness: Site, site: Site): unknown =>
  addLogKeys(
    witness.witnessDir,
    trustOf(site).keys.map(({ text }) => text),
  );

async function witnessOf({ witnessDir }: Site, listen = '127.0.0.1:0'): Promise<RunningWitness> {
  const witness = await witnessServe({ dataDir: witnessDir, listen, log: silentLog });
  running.push(witness);
  return witness;
}

interface Served extends RunningPlane {
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

async function planeOf(
  { dataDir }: Site,
  witness: readonly string[],
  configured: object = {},
): Promise<Served> {
  const path = join(dataDir, 'plane.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...configured }), {
    mode: 0o600,
  });
  const plane = await planeServe({ dataDir, log: silentLog, env: {}, witness, overloadDelayMs: 60_000 });
  running.push(plane);
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const { call } = checkedCalls(plane.baseUrl);
  return {
    ...plane,
    call: (method, at, body) => call(method, at, body === undefined ? { key } : { key, body }),
  };
}

/** Asks until it holds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  await vi.waitUntil(holds, { timeout: 50_000, interval: 50 });
}

const sizeOf = (note: string): number => Number(note.split('\n')[1]);
const quorumMet = (note: string, trust: Trust): boolean => openTrustedCheckpoint(note, trust).quorumMet;
const checkpoint = async (plane: Served): Promise<string> =>
  (await plane.call('GET', '/log/checkpoint')).text;
const record = (plane: Served, runId: string) => plane.call('POST', '/events', event({ runId }));
const prove = async (plane: Served, runId: string): Promise<string> => {
  const made = await plane.call('POST', '/proofs', { runId, composed: { layers: ['log_inclusion'] } });
  expect(made.status).toBe(201);
  return made.body.proofId;
};
const bundleOf = async (plane: Served, proofId: string): Promise<Buffer> =>
  (await plane.call('GET', `/proofs/${proofId}/bundle`)).bytes;
const logInclusion = (bundle: Buffer) => {
  const { proof, layerStatements } = JSON.parse(bundle.toString());
  const statement = String(layerStatements.log_inclusion).split('\n')[1] ?? '';
  const { verified } = proof.layers.find(({ name }: { name: string }) => name === 'log_inclusion');
  return { verified, ...JSON.parse(statement).claims };
};
const reasons = async (plane: Served): Promise<string> =>
  String((await plane.call('GET', '/health')).body.reasons);

describe('two planes', { timeout: 120_000 }, () => {
  it('two planes witness each other, and checkpoints and bundles carry the cosignatures', async () => {
    const [a, b] = [await newSite('a'), await newSite('b')];
    learn(a, b);
    learn(b, a);
    const [ofA, ofB] = [await witnessOf(a), await witnessOf(b)];
    const planeA = await planeOf(a, [`${b.vkey}@${ofB.url}`]);
    const planeB = await planeOf(b, [`${a.vkey}@${ofA.url}/`]);
    for (const [plane, site, other] of [
      [planeA, a, b],
      [planeB, b, a],
    ] as const) {
      await record(plane, 'run-1');
      const proofId = await prove(plane, 'run-1');
      const trust = witnessedBy(site, other);
      await until(async () => verifyBundle(await bundleOf(plane, proofId), trust).verified);
      const note = await checkpoint(plane);
      expect(quorumMet(note, trust)).toBe(true);
      expect(verifyBundle(await bundleOf(plane, proofId), witnessedBy(site, site))).toMatchObject({
        verified: false,
      });
      // as it was made: at once, and it says so
      expect(logInclusion(await bundleOf(plane, proofId))).toMatchObject({ verified: true, quorum: 0 });
      expect((await plane.call('POST', '/proofs/verify', { proofId })).body).toMatchObject({
        verified: true,
      });
      expect(await reasons(plane)).toBe('');
      const files = { bundle: join(folder, 'bundle.json'), trust: join(folder, 'trust') };
      writeFileSync(files.bundle, await bundleOf(plane, proofId));
      writeFileSync(files.trust, formatTrust(trust));
      const said = await govHere(['proofs', 'verify', files.bundle, '--trust', files.trust]);
      expect(said.code).toBe(0);
      expect(said.stdout + said.stderr).not.toContain('UNWITNESSED');
    }
  });

  it('a plane that restarts and a witness that restarts catch up with each other', async () => {
    const [c, d] = [await newSite('c'), await newSite('d')];
    learn(d, c);
    const trust = witnessedBy(c, d);
    let witness = await witnessOf(d);
    const { port } = new URL(witness.url);
    const flag = [`${d.vkey}@${witness.url}`];
    let plane = await planeOf(c, flag);
    await record(plane, 'run-1');
    await until(async () => quorumMet(await checkpoint(plane), trust));
    await plane.close();
    plane = await planeOf(c, flag);
    await record(plane, 'run-2');
    const size = sizeOf(await checkpoint(plane));
    await until(
      async () => sizeOf(await checkpoint(plane)) >= size && quorumMet(await checkpoint(plane), trust),
    );
    await witness.close();
    await record(plane, 'run-3'); // recording does not care
    const proofId = await prove(plane, 'run-3');
    expect(verifyBundle(await bundleOf(plane, proofId), trust)).toMatchObject({ verified: false });
    expect(verifyBundle(await bundleOf(plane, proofId), trustOf(c))).toMatchObject({ verified: true });
    witness = await witnessOf(d, `127.0.0.1:${port}`);
    await until(async () => verifyBundle(await bundleOf(plane, proofId), trust).verified);
  });
});

describe('an export', { timeout: 120_000 }, () => {
  const made = async (plane: Served): Promise<AsyncIterable<Uint8Array>> => {
    const asked = { resource: 'audit_events', format: 'json', includeProof: true };
    const { exportId } = (await plane.call('POST', '/exports', asked)).body;
    const get = (method: string, path: string) => plane.call(method, path);
    expect(await exportEnd(get, exportId)).toMatchObject({ status: 'completed' });
    const { bytes } = await plane.call('GET', `/exports/${exportId}/download`);
    return (async function* () {
      yield bytes;
    })();
  };

  it('an export waits for cosignatures, so that a verifier that requires a witness accepts it', async () => {
    const [p, q] = [await newSite('p'), await newSite('q')];
    learn(q, p);
    const { url } = await witnessOf(q);
    const plane = await planeOf(p, [`${q.vkey}@${url}`]);
    await record(plane, 'run-1');
    const verdict = await verifyExport(await made(plane), witnessedBy(p, q));
    expect(verdict).toMatchObject({ verified: true, code: null });
    expect(verdict.notes.join()).not.toContain('UNWITNESSED');
  });

  it('an export is made without cosignatures when the wait is over', async () => {
    const r = await newSite('r');
    const { url, close } = await witnessOf(r);
    await close();
    const witnesses = [{ url, verifierKey: r.vkey }];
    const plane = await planeOf(r, [], { witnesses, witnessWaitSeconds: 1 });
    await record(plane, 'run-1');
    expect((await verifyExport(await made(plane), witnessedBy(r, r))).code).toBe('WITNESS_QUORUM_NOT_MET');
    const alone = await verifyExport(await made(plane), trustOf(r));
    expect(alone.verified).toBe(true);
    expect(alone.notes.join()).toContain('UNWITNESSED');
  });
});

describe('a proof', { timeout: 120_000 }, () => {
  it('a proof waits for cosignatures when the plane requires them, and claims them', async () => {
    const [e, f] = [await newSite('e'), await newSite('f')];
    learn(f, e);
    const { url } = await witnessOf(f);
    const witnesses = [{ url, verifierKey: f.vkey }];
    const plane = await planeOf(e, [], { witnesses, witnessQuorum: 1, witnessWaitSeconds: 10 });
    await record(plane, 'run-1');
    const proofId = await prove(plane, 'run-1');
    const bundle = await bundleOf(plane, proofId);
    expect(logInclusion(bundle)).toMatchObject({
      verified: true,
      quorum: 1,
      cosigners: [witnessName(parseVerifierKey(f.vkey))],
      witness: 'witnessed',
    });
    expect(verifyBundle(bundle, witnessedBy(e, f))).toMatchObject({ verified: true });
    expect((await plane.call('POST', '/proofs/verify', { proofId })).body).toMatchObject({ verified: true });
    // whoever serves it without witnesses later still recomputes what was claimed
    await plane.close();
    const later = await planeOf(e, [], { witnesses: [], witnessQuorum: 0 });
    expect((await later.call('POST', '/proofs/verify', { proofId })).body).toMatchObject({ verified: true });
  });

  it('a proof is made without cosignatures after the wait, and its layer says that the quorum was not met', async () => {
    const g = await newSite('g');
    const { url, close } = await witnessOf(g);
    await close();
    const witnesses = [{ url, verifierKey: g.vkey }];
    const plane = await planeOf(g, [], { witnesses, witnessQuorum: 1, witnessWaitSeconds: 1 });
    await record(plane, 'run-1');
    const bundle = await bundleOf(plane, await prove(plane, 'run-1'));
    expect(logInclusion(bundle)).toMatchObject({
      verified: false,
      quorum: 1,
      cosigners: [],
      witness: 'unwitnessed',
    });
  });
});

describe('an older copy of a witness', { timeout: 120_000 }, () => {
  it('a plane tells an older copy of a witness that it cosigned more before', async () => {
    const [l, m] = [await newSite('l'), await newSite('m')];
    learn(m, l);
    const trust = witnessedBy(l, m);
    let witness = await witnessOf(m);
    const { port } = new URL(witness.url);
    const plane = await planeOf(l, [`${m.vkey}@${witness.url}`]);
    const cosigned = async (least: number): Promise<void> => {
      await record(plane, 'run-1');
      await until(async () => {
        const note = await checkpoint(plane);
        return sizeOf(note) > least && quorumMet(note, trust);
      });
    };
    await cosigned(1);
    await witness.close();
    const copy = join(folder, 'm-older');
    cpSync(m.witnessDir, copy, { recursive: true });
    witness = await witnessOf(m, `127.0.0.1:${port}`);
    await cosigned(sizeOf(await checkpoint(plane)));
    expect(await reasons(plane)).toBe('');
    await witness.close();
    // whoever puts it back says that it is the newest one, and it is not
    witness = await witnessServe({
      dataDir: copy,
      listen: `127.0.0.1:${port}`,
      log: silentLog,
      moved: true,
    });
    running.push(witness);
    await record(plane, 'run-2');
    await until(async () => (await reasons(plane)).includes('witness_behind'));
    expect(await reasons(plane)).toContain('an older copy of the witness');
  });
});

describe('an older copy of a plane', { timeout: 120_000 }, () => {
  it('an older copy of a plane gets no cosignature, reports that, and continues to record', async () => {
    const [h, i] = [await newSite('h'), await newSite('i')];
    learn(i, h);
    const { url } = await witnessOf(i);
    const flag = [`${i.vkey}@${url}`];
    let plane = await planeOf(h, flag);
    await record(plane, 'run-1');
    await plane.close();
    const copy: Site = { ...h, dataDir: join(folder, 'h-copy') };
    cpSync(h.dataDir, copy.dataDir, { recursive: true });

    plane = await planeOf(h, flag);
    for (let n = 0; n < 5; n += 1) await record(plane, `run-${n}`);
    const trust = witnessedBy(h, i);
    const size = (await checkpoint(plane), sizeOf(await checkpoint(plane)));
    await until(async () => {
      const note = await checkpoint(plane);
      return sizeOf(note) >= size && sizeOf(note) > 5 && quorumMet(note, trust);
    });
    const witnessed = sizeOf(await checkpoint(plane));
    await plane.close();

    // both of its files are older, so it does not know by itself
    const older = await planeOf(copy, flag);
    await until(async () => (await reasons(older)).includes('witness_refused'));
    expect(await reasons(older)).toContain(`it has cosigned ${witnessed} leaves`);
    expect((await older.call('GET', '/health')).body).toMatchObject({ status: 'degraded' });
    expect((await older.call('GET', '/health/ready')).status).toBe(200);
    // what it has signed until then is behind the witness; from now on it signs nothing
    await until(async () => (await reasons(older)).includes('that the key of this log signed'));
    const last = sizeOf(await checkpoint(older));
    for (let n = 0; n < 12; n += 1) expect((await record(older, `forked-${n}`)).status).toBe(201);
    await until(async () => (await reasons(older)).includes('signing_refused'));
    expect(sizeOf(await checkpoint(older))).toBe(last);
    expect((await older.call('POST', '/proofs', { runId: 'forked-1' })).status).toBe(503);
    expect((await older.call('GET', '/health/ready')).status).toBe(200);
    await older.close();
    await expect(planeOf(copy, flag)).rejects.toThrow(/differs from the signed history.*gov log recover/);
  });

  it('an older copy that outgrew the witnessed log is no longer signed once it learns of that', async () => {
    const [j, k] = [await newSite('j'), await newSite('k')];
    learn(k, j);
    const { url } = await witnessOf(k);
    const flag = [`${k.vkey}@${url}`];
    const copy: Site = { ...j, dataDir: join(folder, 'j-copy') };
    cpSync(j.dataDir, copy.dataDir, { recursive: true });
    const plane = await planeOf(j, flag);
    for (let n = 0; n < 5; n += 1) await record(plane, `run-${n}`);
    await until(async () => {
      const note = await checkpoint(plane);
      return sizeOf(note) > 5 && quorumMet(note, witnessedBy(j, k));
    });
    await plane.close();
    let older = await planeOf(copy, []);
    for (let n = 0; n < 12; n += 1) await record(older, `forked-${n}`);
    await until(async () => sizeOf(await checkpoint(older)) > 12);
    await older.close();
    older = await planeOf(copy, flag);
    await record(older, 'forked');
    await until(async () => (await reasons(older)).includes('witness_refused'));
    await record(older, 'forked');
    await until(async () => (await reasons(older)).includes('signing_refused'));
    await older.close();
    await expect(planeOf(copy, flag)).rejects.toThrow(/differs from the signed history.*gov log recover/);
  });
});
