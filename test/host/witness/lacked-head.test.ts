/**
 * What a witness shows counts where it cosigned it, a key of the log in force at that place signed it, and the log lacks it:
 * no witness stops a log by words, and no thief by a key that was retired.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CheckpointSigner,
  ed25519Cosigner,
  ed25519Signer,
  signCheckpoint,
} from '../../../src/core/note/checkpoint.ts';
import { keyLeafFields } from '../../../src/core/note/key-history.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { lackedHead, type OwnLog } from '../../../src/host/witness/lacked-head.ts';
import type { Project } from '../../../src/store/port/store.ts';
import { openStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';

const origin = 'gov.local/a/audit';
const project: Project = {
  projectId: 'prj_a',
  organizationId: 'org_a',
  environment: 'production',
  auditOrigin: origin,
  meteringOrigin: 'gov.local/a/metering/0',
};
const newKey = () => generateKeyPairSync('ed25519').privateKey;
const [first, second, log, stranger] = [newKey(), newKey(), newKey(), newKey()].map((key) =>
  ed25519Signer(origin, key),
) as [CheckpointSigner, CheckpointSigner, CheckpointSigner, CheckpointSigner];
const witness = ed25519Cosigner('w.example/1', newKey());
const own: OwnLog = {
  origin,
  verifierKeys: [log, first, second].map(({ verifierKey }) => verifierKey),
  remember: () => undefined,
};
const folder = mkdtempSync(join(tmpdir(), 'gov-lacked-'));
let store: SqliteStore;
const append = (...leaves: ReturnType<typeof draftLeaf>[]) =>
  store.append({ projectId: 'prj_a', leaves, meter: { op: 'none', units: 0 } });
const change = (index: number, what: 'add' | 'retire', key: CheckpointSigner, signers: CheckpointSigner[]) =>
  append(
    draftLeaf('gov.key/1', keyLeafFields(origin, index, { change: what, keys: [key.verifierKey], signers })),
  );
// 0 pins the first key; 3 adds the second, 5 retires the first; 6 adds the one in force, 8 retires the second
beforeAll(async () => {
  store = openStore({ dataDir: folder, clock: { now: Date.now }, randomBytes, reserveBytes: 0 });
  await store.createProject(project, draftLeaf('gov.genesis/1', { origin, keys: [first.verifierKey] }));
  const filler = draftLeaf('gov.config/1', { n: 1 });
  await append(filler, filler);
  await change(3, 'add', second, [first, second]);
  await append(filler);
  await change(5, 'retire', first, [second]);
  await change(6, 'add', log, [second, log]);
  await append(filler);
  await change(8, 'retire', second, [log]);
  await append(filler);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const have = 10;
const other = Buffer.alloc(32, 7);
const timestampSeconds = 1_767_225_600;
const note = (size: number, root: Buffer, by: CheckpointSigner[], name = origin): string =>
  signCheckpoint({ origin: name, size, root, extensions: [] }, by, { timestampSeconds });
const shown = (text: string) =>
  lackedHead(text, own, { store, projectId: 'prj_a', witnessKey: parseVerifierKey(witness.verifierKey) });

it.each([
  ['a key in force, beyond the log', log, 1_000_000],
  ['a key in force, within the log', log, 4],
  ['a retired key, where it was in force', first, 5],
  ['another one', second, 8],
])('a head that the log lacks counts when it is signed by %s', async (_, by, size) => {
  expect(await shown(note(size, other, [by, witness]))).toEqual({ origin, size, root: other, have });
});

it.each([
  ['a key that was retired before, beyond the log', first, 1_000_000],
  ['a key that was retired before, within the log', first, 6],
  ['a key that was retired, before it was added', second, 3],
  ['another key', stranger, 12],
])('a head that the log lacks does not count when it is signed by %s', async (_, by, size) => {
  expect(await shown(note(size, other, [by, witness]))).toBe(null);
});

it('a note counts only if it shows a signed head that the log lacks', async () => {
  const { root } = await store.head('prj_a', 'audit');
  expect(await shown(note(have, root, [log, witness]))).toBe(null);
  const foreign = ed25519Signer('other.example/log', newKey());
  const liar = ed25519Cosigner('w.example/1', newKey());
  for (const text of [
    note(12, other, [log]),
    note(12, other, [log, liar]),
    note(12, other, [foreign, witness], 'other.example/log'),
    note(12, other, [witness]),
    note(12, other, [log, witness]).replace('\n12\n', '\n13\n'),
    'nonsense',
    '',
  ])
    expect(await shown(text), text).toBe(null);
});
