/** Backups beside a rotation of the log's keys: the copy has the keys that its own log has in force. */
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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { planeBackup } from '../../../plane/data/backup.ts';
import { copyLogKeys, historyIn } from '../../../plane/data/backup-keys.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { formatManifest, type Manifest } from '../../../plane/data/manifest.ts';
import { planeRestore } from '../../../plane/data/restore.ts';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { logKeyFiles, readKeys } from '../../../src/host/keys/disk.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { copyStore } from '../../../src/store/file/copies.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-backupkeys-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const stages = ['before', 'rotated', 'retired'] as const;
type Stage = (typeof stages)[number];

/** The same plane at three times. */
beforeAll(async () => {
  await planeInit({ dataDir: at('before'), listen: '127.0.0.1:0', metricsListen: 'off' });
  cpSync(at('before'), at('rotated'), { recursive: true });
  await rotateKeys(at('rotated'));
  cpSync(at('rotated'), at('retired'), { recursive: true });
  await retireKeys(at('retired'));
});
beforeEach(() => {
  for (const name of ['plane', 'backup', 'restored']) rmSync(at(name), { recursive: true, force: true });
});

/** Makes the directory that of another time, as the process that serves it does. */
function turn(dataDir: string, to: Stage): void {
  rmSync(join(dataDir, 'keys'), { recursive: true });
  cpSync(join(at(to), 'keys'), join(dataDir, 'keys'), { recursive: true });
  for (const name of ['gov.db', 'trust']) {
    for (const end of ['-wal', '-shm']) rmSync(join(dataDir, `${name}${end}`), { force: true });
    cpSync(join(at(to), name), join(dataDir, `${name}.new`));
    renameSync(join(dataDir, `${name}.new`), join(dataDir, name));
  }
}

const serves = async (dataDir: string): Promise<void> =>
  (await planeServe({ dataDir, log: silentLog, env: {} })).close();

it.each([
  ['before', 'rotated'],
  ['rotated', 'retired'],
] as const)(
  'a backup is restored when keys changed from %s to %s after the first files were copied',
  async (from, to) => {
    cpSync(at(from), at('plane'), { recursive: true });
    const made = planeBackup({ dataDir: at('plane'), out: at('backup'), withKeys: true });
    // the log was not looked at yet: that waits for a turn of the event loop
    turn(at('plane'), to);
    await made;
    const restored = await planeRestore({ from: at('backup'), dataDir: at('restored'), lastCheckpoints: [] });
    expect(restored).toMatchObject({ verdict: 'unproven', withKeys: true });
    expect(readFileSync(join(at('restored'), 'trust'), 'utf8')).toBe(
      readFileSync(join(at(to), 'trust'), 'utf8'),
    );
    await serves(at('restored'));
  },
);

it.each([
  ['before', 'rotated'],
  ['rotated', 'retired'],
  ['before', 'retired'],
] as const)(
  'a backup is restored when keys changed from %s to %s after the log was copied',
  async (from, to) => {
    cpSync(at(from), at('plane'), { recursive: true });
    // without the log's keys, as they stand when the log was copied
    const { projectId } = readPlaneFile(join(at('plane'), 'plane.json'));
    mkdirSync(at('restored'));
    for (const name of ['plane.json', 'trust']) cpSync(join(at('plane'), name), join(at('restored'), name));
    await copyStore(at('plane'), at('restored'));
    mkdirSync(join(at('restored'), 'keys'), { mode: 0o700 });
    for (const name of ['store.key', 'attestation.p256.pem'])
      cpSync(join(at('plane'), 'keys', name), join(at('restored'), 'keys', name));
    turn(at('plane'), to);
    await copyLogKeys(at('plane'), at('restored'), await historyIn(at('restored'), projectId));
    expect(logKeyFiles(join(at('restored'), 'keys'))).toHaveLength(from === 'before' ? 1 : 2);
    await serves(at('restored'));
  },
);

it('a backup is refused when a key that is in force in the log is missing', async () => {
  cpSync(at('rotated'), at('plane'), { recursive: true });
  for (const name of ['log.2.ed25519.pem', 'log.2.mldsa44.pem'])
    rmSync(join(at('plane'), 'keys', name), { force: true });
  await expect(
    planeBackup({ dataDir: at('plane'), out: at('backup'), withKeys: true }),
  ).rejects.toMatchObject({
    code: 'STORAGE_FAULT',
    message: expect.stringMatching(/is missing/),
  });
  expect(existsSync(at('backup'))).toBe(false);
});

it('a backup that lacks one of its keys, as older releases made it, is restored as one without keys', async () => {
  await planeBackup({ dataDir: at('rotated'), out: at('backup'), withKeys: true });
  expect(readdirSync(at('backup')).filter((name) => /-(?:wal|shm)$/.test(name))).toEqual([]);
  const path = join(at('backup'), 'manifest.json');
  const whole = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  const files = whole.files.filter((file) => !file.path.startsWith('keys/log.2.'));
  expect(files.length).toBeLessThan(whole.files.length);
  const { origin } = readPlaneFile(join(at('rotated'), 'plane.json'));
  const [signer] = readKeys(at('rotated')).signers(origin);
  const { json, note } = formatManifest({ ...whole, files }, signer!);
  writeFileSync(path, json);
  writeFileSync(join(at('backup'), 'manifest.note'), note);
  const restored = await planeRestore({ from: at('backup'), dataDir: at('restored'), lastCheckpoints: [] });
  expect(restored).toMatchObject({ withKeys: false });
});
