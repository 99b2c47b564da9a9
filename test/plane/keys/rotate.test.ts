/** Rotation of a plane's keys: what is signed by which keys, what old proofs need, and what a crash leaves. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import { planeServe, type RunningPlane } from '../../../plane/serve/start.ts';
import { ed25519Signer, formatTrust, parseTrust } from '../../../src/core/note/checkpoint.ts';
import { keyLeafFields } from '../../../src/core/note/key-history.ts';
import { signNote, splitNote } from '../../../src/core/note/signed.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { readKeys } from '../../../src/host/keys/disk.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { openReader, openStore } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { connect } from '../../../src/store/file/connection.ts';
import { mainApplicationId } from '../../../src/store/file/schema/tables.ts';
import { checkedCalls, event } from '../../support/serving.ts';
import { unguarded } from '../../support/unguarded.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-rotate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const newPlane = async (name: string): Promise<string> => {
  const dataDir = join(folder, name);
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  return dataDir;
};
const serve = (dataDir: string): Promise<RunningPlane> => planeServe({ dataDir, log: silentLog, env: {} });
const trustOf = (dataDir: string) => parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8'));
const ids = (note: string): number[] => splitNote(note).signatures.map(({ keyId }) => keyId);
const idsOf = (vkeys: readonly string[]): number[] => vkeys.map((vkey) => parseVerifierKey(vkey).keyId);

/** Serves, records a run, proves it; the bundle of the proof and the newest checkpoint. */
async function proved(dataDir: string, runId: string) {
  const plane = await serve(dataDir);
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const { call } = checkedCalls(plane.baseUrl);
  try {
    await call('POST', '/events', { key, body: event({ runId }) });
    const made = await call('POST', '/proofs', {
      key,
      body: { runId, composed: { layers: ['log_inclusion'] } },
    });
    expect(made.status).toBe(201);
    const { proofId } = made.body;
    const bundle = (await call('GET', `/proofs/${proofId}/bundle`, { key })).bytes;
    const note = (await call('GET', '/log/checkpoint', { key })).text;
    const again = await call('POST', '/proofs/verify', { key, body: { proofId } });
    const keys = (await call('GET', '/log/key', { key })).text.trim().split('\n');
    return {
      bundle,
      note,
      again,
      keys,
      verify: (id: string) => call('POST', '/proofs/verify', { key, body: { proofId: id } }),
      proofId,
    };
  } finally {
    await plane.close();
  }
}

const whole = async (dataDir: string) => {
  const { ok, problems } = await fsck({ dataDir, deep: true, env: {} });
  expect({ ok, problems }).toEqual({ ok: true, problems: [] });
};

describe('keys of a plane', { timeout: 120_000 }, () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await newPlane('a');
  });

  it('rotated keys verify with their own checkpoints and proofs, before and after the old keys retire', async () => {
    const first = trustOf(dataDir);
    const before = await proved(dataDir, 'before');
    const old = first.keys.map(({ text }) => text);
    expect(ids(before.note)).toEqual(idsOf(old));

    const rotated = await rotateKeys(dataDir);
    expect(rotated).toMatchObject({ change: 'add', inForce: [...old, ...rotated.keys], retired: [] });
    expect(trustOf(dataDir).keys.map(({ text }) => text)).toEqual([...old, ...rotated.keys]);
    await whole(dataDir);
    const between = await proved(dataDir, 'between');
    expect(ids(between.note)).toEqual(idsOf([...old, ...rotated.keys]));
    expect(between.keys).toEqual([...old, ...rotated.keys]);

    const retired = await retireKeys(dataDir);
    expect(retired).toMatchObject({ change: 'retire', keys: old, inForce: rotated.keys, retired: old });
    expect(trustOf(dataDir).keys.map(({ text }) => text)).toEqual([...old, ...rotated.keys]);
    await whole(dataDir);
    const after = await proved(dataDir, 'after');
    expect(ids(after.note)).toEqual(idsOf(rotated.keys));
    expect(after.keys).toEqual([...rotated.keys, ...old]); // public keys are kept for ever
    await whole(dataDir);

    const trust = trustOf(dataDir);
    for (const { bundle, again } of [before, between, after]) {
      expect(verifyBundle(bundle, trust)).toMatchObject({ verified: true });
      expect(again.body).toMatchObject({ verified: true });
    }
    // whoever has the old keys alone verifies what they signed, and nothing after
    expect(verifyBundle(before.bundle, first).verified).toBe(true);
    expect(verifyBundle(between.bundle, first).verified).toBe(true);
    expect(verifyBundle(after.bundle, first)).toMatchObject({ verified: false });

    // whoever took a stolen key out of the trust file finds it as it was left
    const [stolen, ...others] = trust.keys;
    writeFileSync(join(dataDir, 'trust'), formatTrust({ ...trust, keys: others }));
    const plane = await serve(dataDir);
    expect(trustOf(dataDir).keys.map(({ text }) => text)).not.toContain(stolen!.text);
    writeFileSync(join(dataDir, 'trust'), formatTrust(trust));
    const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
    const { call } = checkedCalls(plane.baseUrl);
    const stored = await call('POST', '/proofs/verify', { key, body: { proofId: before.proofId } });
    await plane.close();
    expect(stored.body).toMatchObject({ verified: true });
  });

  it('a plane can rotate its keys again, and key files name their generation', async () => {
    await expect(retireKeys(dataDir)).rejects.toMatchObject({ code: 'CONFLICT' });
    await rotateKeys(dataDir);
    await expect(rotateKeys(dataDir)).rejects.toMatchObject({ code: 'CONFLICT' });
    await retireKeys(dataDir);
    const names = (below: string): string[] =>
      readdirSync(join(dataDir, below)).filter((name) => name.endsWith('ed25519.pem'));
    expect(names('keys')).toEqual(['log.3.ed25519.pem']);
    expect(names('keys/retired').toSorted()).toEqual(['log.2.ed25519.pem', 'log.ed25519.pem']);
    expect(trustOf(dataDir).keys.filter(({ algorithm }) => algorithm === 'ed25519')).toHaveLength(3);
    await whole(dataDir);
  });
});

describe('a crash', { timeout: 120_000 }, () => {
  it('a crash before the leaf leaves unused keys, and the next rotation makes other keys', async () => {
    const dataDir = await newPlane('early');
    mkdirSync(join(dataDir, 'keys/next'), { mode: 0o700 });
    cpSync(
      join(await newPlane('stranger'), 'keys/log.ed25519.pem'),
      join(dataDir, 'keys/next/log.2.ed25519.pem'),
    );
    const abandoned = readFileSync(join(dataDir, 'keys/next/log.2.ed25519.pem'), 'utf8');
    await (await serve(dataDir)).close();
    expect(existsSync(join(dataDir, 'keys/log.2.ed25519.pem'))).toBe(false);
    await rotateKeys(dataDir);
    expect(readFileSync(join(dataDir, 'keys/log.2.ed25519.pem'), 'utf8')).not.toBe(abandoned);
    await whole(dataDir);
  });

  it('the next start repairs a crash between a leaf of a key change and its files', async () => {
    const dataDir = await newPlane('late');
    const trust = readFileSync(join(dataDir, 'trust'), 'utf8');
    const { keys } = await rotateKeys(dataDir);
    // as it was just after the leaf of the rotation
    const next = join(dataDir, 'keys/next');
    mkdirSync(next, { mode: 0o700 });
    const fresh = readdirSync(join(dataDir, 'keys')).filter((name) => name.startsWith('log.2.'));
    for (const name of fresh) renameSync(join(dataDir, 'keys', name), join(next, name));
    writeFileSync(join(dataDir, 'trust'), trust, { mode: 0o600 });
    await (await serve(dataDir)).close();
    expect(existsSync(next)).toBe(false);
    expect(trustOf(dataDir).keys.map(({ text }) => text)).toEqual(expect.arrayContaining([...keys]));

    await retireKeys(dataDir);
    const retired = join(dataDir, 'keys/retired');
    const gone = readdirSync(retired);
    for (const name of gone) renameSync(join(retired, name), join(dataDir, 'keys', name));
    await (await serve(dataDir)).close();
    expect(readdirSync(retired)).toEqual(gone);
    await whole(dataDir);
  });

  it('a start without the new keys is refused with their names', async () => {
    const dataDir = await newPlane('lost');
    await rotateKeys(dataDir);
    rmSync(join(dataDir, 'keys/log.2.ed25519.pem'));
    await expect(serve(dataDir)).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
  });
});

describe('an enrolled plane', { timeout: 120_000 }, () => {
  it('a service knows an enrolled plane by its old key until the plane enrols again', async () => {
    const dataDir = await newPlane('enrolled');
    writeFileSync(join(dataDir, 'keys/telemetry.json'), '{}', { mode: 0o600 });
    const [identity] = readKeys(dataDir).telemetrySigners('log');
    await rotateKeys(dataDir);
    const known = (): string | undefined => readKeys(dataDir).telemetrySigners('log')[0]?.verifierKey;
    expect(known()).toBe(identity?.verifierKey);
    await retireKeys(dataDir);
    expect(known()).toBe(identity?.verifierKey);
    expect(
      readKeys(dataDir)
        .signers('log')
        .map(({ verifierKey }) => verifierKey),
    ).not.toContain(known());
    rmSync(join(dataDir, 'keys/telemetry.ed25519.pem')); // what a new enrolment does
    expect(known()).toBe(readKeys(dataDir).signers('log')[0]?.verifierKey);
  });
});

describe('fsck', { timeout: 120_000 }, () => {
  it('fsck finds a checkpoint that only retired keys signed', async () => {
    const dataDir = await newPlane('forged');
    const { projectId } = readPlaneFile(join(dataDir, 'plane.json'));
    const olds = readKeys(dataDir);
    await rotateKeys(dataDir);
    await retireKeys(dataDir);
    await whole(dataDir);
    const reader = openReader(storeFiles(dataDir).main);
    const note = (await reader.newestCheckpoint(projectId, 'audit')) ?? '';
    reader.close();
    const { text } = splitNote(note);
    const [origin = '', size = ''] = text.split('\n');
    const forged = signNote(text, olds.signers(origin), { timestampSeconds: 1 });
    const db = connect(storeFiles(dataDir).main, { applicationId: mainApplicationId });
    unguarded(db, () =>
      db.prepare('UPDATE checkpoint SET note = ? WHERE tree = 0 AND size = ?').run(forged, Number(size)),
    );
    db.close();
    const { problems } = await fsck({ dataDir, deep: true, env: {} });
    expect(problems).toMatchObject([
      { position: `${projectId}/audit/checkpoint/${size}`, kind: 'checkpoint_signature' },
    ]);
  });

  it('fsck and a start find a key that no key in force introduced', async () => {
    const dataDir = await newPlane('intruded');
    const { projectId, origin } = readPlaneFile(join(dataDir, 'plane.json'));
    const stranger = ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey);
    const store = openStore({ dataDir, clock: { now: Date.now }, randomBytes, reserveBytes: 0 });
    const { size: index } = await store.head(projectId, 'audit');
    const change = { change: 'add', keys: [stranger.verifierKey], signers: [stranger] } as const;
    const leaves = [draftLeaf('gov.key/1', keyLeafFields(origin, index, change))];
    await store.append({ projectId, leaves, meter: { op: 'none', units: 0 } });
    await store.close();
    const { problems } = await fsck({ dataDir, deep: true, env: {} });
    expect(problems).toMatchObject([{ position: `${projectId}/audit/${index}`, kind: 'log_key_mismatch' }]);
    await expect(serve(dataDir)).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
  });
});
