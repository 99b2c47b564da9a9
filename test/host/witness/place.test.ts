/**
 * A witness whose directory was copied, moved, linked, damaged, put back over itself, or lost its store: an older copy
 * would cosign a second history.
 */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { ed25519Signer, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { formatWitnessRequest, parseWitnessRequest } from '../../../src/core/note/witness.ts';
import {
  addLogKeys,
  type RunningWitness,
  witnessedLogs,
  witnessInit,
  witnessServe,
} from '../../../src/host/witness/server.ts';
import { placeOf } from '../../../src/host/witness/place.ts';
import { openWitnessStore } from '../../../src/host/witness/store.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { naiveConsistency } from '../../core/merkle/naive.ts';
import { gov } from '../../cli/support/tool.ts';
import { send } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-witnessplace-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
let dataDir: string;
/** Beside it; nothing is there yet. */
let copy: string;

const origin = 'example.com/log';
const signer = ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey);
const leaves = Array.from({ length: 10 }, (_, at) => leafHash(`leaf ${at}`));
function submission(oldSize: number, size: number): string {
  const root = merkleRoot(leaves.slice(0, size));
  const note = signCheckpoint({ origin, size, root, extensions: [] }, [signer]);
  const proof = oldSize === 0 ? [] : naiveConsistency(oldSize, leaves.slice(0, size));
  return formatWitnessRequest({ oldSize, proof, note });
}
const serve = (at: string, moved?: boolean): Promise<RunningWitness> =>
  witnessServe({ dataDir: at, listen: '127.0.0.1:0', log: silentLog, moved });
const post = (witness: RunningWitness, body: string) =>
  send('POST', `${witness.url}/add-checkpoint`, { raw: body, headers: { 'content-type': 'text/plain' } });

/** Serves, gets this size cosigned, and stops. */
async function cosign(at: string, oldSize: number, size: number): Promise<void> {
  const witness = await serve(at);
  const { status } = await post(witness, submission(oldSize, size));
  await witness.close();
  expect(status).toBe(200);
}

/** With `moved` as without. */
async function expectRefused(at: string, refused: object): Promise<void> {
  await expect(serve(at)).rejects.toMatchObject(refused);
  await expect(serve(at, true)).rejects.toMatchObject(refused);
}

const aCopy = { code: 'CONFLICT', message: expect.stringMatching(/it is a copy of it: .*--moved/) };
const forgot = { code: 'CONFLICT', message: expect.stringMatching(/all 9 leaves .* but it knows 5/) };
const lost = { code: 'CONFLICT', message: expect.stringContaining('it was lost, and with it what was') };

beforeEach(async () => {
  [dataDir, copy] = [join(folder, `${(made += 1)}`), join(folder, `${made}-copy`)];
  await witnessInit({ dataDir });
  addLogKeys(dataDir, [signer.verifierKey]);
  await cosign(dataDir, 0, 5);
});

describe('a copy', () => {
  it('a copied witness is not served, and a moved one is served once the operator confirms the move', async () => {
    cpSync(dataDir, copy, { recursive: true, preserveTimestamps: true });
    await cosign(dataDir, 5, 9);
    await expect(serve(copy)).rejects.toMatchObject(aCopy);

    // the same file under another name
    const elsewhere = join(folder, `${made}-elsewhere`);
    renameSync(dataDir, elsewhere);
    await (await serve(elsewhere)).close();
    rmSync(elsewhere, { recursive: true });
    renameSync(copy, elsewhere);
    await expect(serve(elsewhere)).rejects.toMatchObject(aCopy);
    await (await serve(elsewhere, true)).close();
    await cosign(elsewhere, 5, 6);
  });

  it('a copied file is recognized by its creation time, also when that equals its change time', () => {
    const path = join(folder, 'born');
    writeFileSync(path, '');
    const { ino, birthtimeNs } = statSync(path, { bigint: true });
    expect(placeOf(path)).toBe(`${ino}.${birthtimeNs}`);
  });

  const restores: Readonly<Record<string, () => void>> = {
    'its store by cp': () => copyFileSync(join(copy, 'witness.db'), join(dataDir, 'witness.db')),
    'all of it by cp': () => execFileSync('cp', ['-a', `${copy}/.`, dataDir]),
    'all of it by tar': () => {
      execFileSync('tar', ['cf', `${copy}.tar`, '-C', copy, '.']);
      execFileSync('tar', ['xf', `${copy}.tar`, '-C', dataDir]);
    },
  };
  it.each(Object.entries(restores))(
    'a witness detects an older copy that replaced the newer one: %s',
    async (_, restore) => {
      cpSync(dataDir, copy, { recursive: true, preserveTimestamps: true });
      await cosign(dataDir, 5, 9);
      const newest = join(folder, `${made}-newest`);
      cpSync(dataDir, newest, { recursive: true });
      restore();
      await expectRefused(dataDir, forgot);
      const { code, stderr } = await gov(['witness', 'serve', '--data', dataDir, '--moved']);
      expect([code, stderr]).toEqual([6, expect.stringContaining('Put the newest one back')]);
      copyFileSync(join(newest, 'witness.db'), join(dataDir, 'witness.db'));
      await (await serve(dataDir, true)).close();
    },
  );

  it('a witness detects a copy that was taken while it served and was killed', async () => {
    const served = await serve(dataDir);
    cpSync(dataDir, copy, { recursive: true });
    await post(served, submission(5, 9));
    const killed = join(folder, `${made}-killed`);
    cpSync(dataDir, killed, { recursive: true });
    await served.close();
    for (const end of ['', '-wal', '-shm']) rmSync(join(killed, `witness.db${end}`), { force: true });
    for (const end of ['', '-wal']) {
      copyFileSync(join(copy, `witness.db${end}`), join(killed, `witness.db${end}`));
    }
    await expectRefused(killed, forgot);
  });
});

it('a witness is served after a kill before the mark was raised, or without a mark', async () => {
  const store = openWitnessStore(join(dataDir, 'witness.db'));
  store.add(parseWitnessRequest(Buffer.from(submission(5, 7))), 1_800_000_000, () => '');
  store.close();
  expect(readdirSync(join(dataDir, 'mark'))).toEqual(['5']);
  await (await serve(dataDir)).close();
  expect(readdirSync(join(dataDir, 'mark'))).toEqual(['7']);
  rmSync(join(dataDir, 'mark'), { recursive: true });
  await cosign(dataDir, 7, 9);
  expect(readdirSync(join(dataDir, 'mark'))).toEqual(['9']);
});

it('a witness continues when its mark is removed, and names another file in the place of the mark', async () => {
  const mark = join(dataDir, 'mark');
  const witness = await serve(dataDir);
  rmSync(mark, { recursive: true });
  expect((await post(witness, submission(5, 7))).status).toBe(200);
  await witness.close();
  expect(readdirSync(mark)).toEqual(['7']);
  rmSync(mark, { recursive: true });
  writeFileSync(mark, '');
  const inTheWay = {
    code: 'STORAGE_FAULT',
    message: expect.stringMatching(/^expected a directory at .*mark/),
  };
  await expectRefused(dataDir, inTheWay);
});

it.each(['gone', 'empty'])(
  'a witness whose store is %s is not served, whatever flags are given',
  async (how) => {
    const path = join(dataDir, 'witness.db');
    rmSync(path);
    if (how === 'empty') writeFileSync(path, '');
    await expectRefused(dataDir, lost);
    expect(() => addLogKeys(dataDir, [signer.verifierKey])).toThrow(expect.objectContaining(lost));
    expect(existsSync(path) ? statSync(path).size : 0).toBe(0);
    const { code, stderr } = await gov(['witness', 'serve', '--data', dataDir, '--moved']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('gov witness init')]);
  },
);

it('a store of a witness has at most one serving process, also through hard links', async () => {
  mkdirSync(join(copy, 'keys'), { recursive: true });
  for (const name of readdirSync(dataDir, { recursive: true, encoding: 'utf8' })) {
    const path = join(dataDir, name);
    if (statSync(path).isFile() && !name.startsWith('mark')) linkSync(path, join(copy, name));
  }
  const linked = { code: 'CONFLICT', message: expect.stringMatching(/got 2 names \(hard links\)/) };
  await expectRefused(dataDir, linked);
  await expectRefused(copy, linked);
  expect(() => addLogKeys(copy, [signer.verifierKey])).toThrow(expect.objectContaining(linked));
  rmSync(copy, { recursive: true });
  await cosign(dataDir, 5, 6);
});

it('a witness directory has its lock file from the beginning, so that links share it', async () => {
  const fresh = join(folder, `${made}-fresh`);
  await witnessInit({ dataDir: fresh });
  for (const name of ['witness.db', 'witness.lock']) {
    expect(statSync(join(fresh, name)).mode & 0o777, name).toBe(0o600);
  }
});

const damages: Readonly<Record<string, (path: string) => void>> = {
  'random bytes': (path) => writeFileSync(path, randomBytes(8192)),
  'cut off': (path) => truncateSync(path, 9000),
};
it.each(Object.entries(damages))(
  'a witness says what to do when its store is damaged: %s',
  async (_, damage) => {
    damage(join(dataDir, 'witness.db'));
    const damaged = { code: 'STORAGE_FAULT', message: expect.stringContaining('make a new witness under a') };
    await expectRefused(dataDir, damaged);
    expect(() => witnessedLogs(dataDir)).toThrow(expect.objectContaining(damaged));
  },
);

const mayMount = process.getuid?.() === 0 && process.platform === 'linux';
it.skipIf(!mayMount)(
  'a witness answers 503 while its disk is full, and continues once there is space',
  async () => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk], { stdio: 'pipe' });
    } catch {
      return; // root without the right to mount, as in most containers
    }
    try {
      cpSync(dataDir, join(disk, 'w'), { recursive: true });
      const said: unknown[] = [];
      const log = { ...silentLog, error: (_: object, message: string) => void said.push(message) };
      const witness = await witnessServe({
        dataDir: join(disk, 'w'),
        listen: '127.0.0.1:0',
        log,
        moved: true,
      });
      // the write-ahead log grows by a page at least with each checkpoint, and the space it has is soon gone
      try {
        writeFileSync(join(disk, 'fill'), Buffer.alloc(4 << 20));
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOSPC' });
      }
      expect((await post(witness, submission(5, 6))).status).toBe(503);
      expect((await post(witness, submission(5, 6))).status).toBe(503);
      rmSync(join(disk, 'fill'));
      expect((await post(witness, submission(5, 7))).status).toBe(200);
      await witness.close();
      // a fault of the store would have ended the process
      expect(said).toEqual(Array(2).fill('could not answer a request'));
    } finally {
      execFileSync('umount', [disk]);
    }
  },
);
