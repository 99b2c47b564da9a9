/** A witness over real sockets: every answer of C2SP tlog-witness, what it keeps, and what it refuses. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { ed25519Signer, hasMlDsa44, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { cosignatureMessage, cosignedMessage, splitTimestamp } from '../../../src/core/note/cosignature.ts';
import { emptyRoot, leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { openNote, splitNote, type NoteSigner } from '../../../src/core/note/signed.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { formatWitnessRequest } from '../../../src/core/note/witness.ts';
import {
  addLogKeys,
  removeLogKeys,
  type RunningWitness,
  witnessedLogs,
  witnessInit,
  witnessServe,
} from '../../../src/host/witness/server.ts';
import { openWitnessStore, witnessApplicationId } from '../../../src/host/witness/store.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { connect } from '../../../src/store/file/connection.ts';
import { naiveConsistency } from '../../core/merkle/naive.ts';
import { gov, serving } from '../../cli/support/tool.ts';
import { send } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-witness-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const newFolder = (): string => join(folder, `${(made += 1)}`);

const leaves = Array.from({ length: 40 }, (_, at) => leafHash(`leaf ${at}`));
const rootAt = (size: number): Buffer => (size === 0 ? emptyRoot : merkleRoot(leaves.slice(0, size)));

/** A log with this origin, and the bodies that it sends. */
function newLog(origin: string) {
  const signer = ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey);
  const noteAt = (size: number, root = rootAt(size), by: NoteSigner = signer): string =>
    signCheckpoint({ origin, size, root, extensions: [] }, [by]);
  const body = (oldSize: number, size: number, note = noteAt(size)): string => {
    const proof = oldSize === 0 || oldSize >= size ? [] : naiveConsistency(oldSize, leaves.slice(0, size));
    return formatWitnessRequest({ oldSize, proof, note });
  };
  return { origin, signer, noteAt, body, vkey: signer.verifierKey };
}

const post = (witness: { url: string }, body: string) =>
  send('POST', `${witness.url}/add-checkpoint`, { raw: body, headers: { 'content-type': 'text/plain' } });
const monitor = (witness: { url: string }, origin: string) =>
  send('GET', `${witness.url}/${createHash('sha256').update(origin).digest('hex')}/checkpoint`, {});

describe('a witness', () => {
  const log = newLog('example.com/log');
  let dataDir: string;
  let witness: RunningWitness;
  let nowMs = Date.UTC(2026, 0, 5);
  const serve = (): Promise<RunningWitness> =>
    witnessServe({ dataDir, listen: '127.0.0.1:0', log: silentLog, now: () => nowMs });

  beforeEach(async () => {
    dataDir = newFolder();
    await witnessInit({ dataDir, name: 'w.example/1' });
    addLogKeys(dataDir, [log.vkey]);
    witness = await serve();
  });
  afterEach(() => witness.close());

  it('a witness answers with one line for each key, and an independent implementation verifies them', async () => {
    const { status, text, headers } = await post(witness, log.body(0, 5));
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(text).toMatch(/^(?:— w\.example\/1 [A-Za-z0-9+/]+=*\n)+$/);
    const note = log.noteAt(5) + text;
    const keys = witness.verifierKeys.map(parseVerifierKey);
    expect(openNote(note, keys).verified.map(({ timestampSeconds }) => timestampSeconds)).toEqual(
      keys.map(() => nowMs / 1000),
    );
    const message = Buffer.from(splitNote(note).text);
    for (const { keyId, signature } of splitNote(note).signatures.slice(1)) {
      const key = keys.find((each) => each.keyId === keyId)!;
      const { timestampSeconds, signature: bytes } = splitTimestamp(signature)!;
      const holds =
        key.algorithm === 'ed25519-cosignature'
          ? ed25519.verify(bytes, cosignatureMessage(message, timestampSeconds), key.publicKey)
          : ml_dsa44.verify(bytes, cosignedMessage(message, key.name, timestampSeconds), key.publicKey);
      expect(holds).toBe(true);
    }
    expect(keys).toHaveLength(hasMlDsa44() ? 2 : 1);
  });

  it('a start logs that it migrates the store of an older release', async () => {
    await witness.close();
    const path = join(dataDir, 'witness.db');
    const db = connect(path, { applicationId: witnessApplicationId });
    db.exec('DROP TABLE source; DROP TABLE refused; PRAGMA user_version = 1');
    db.close();
    const warned: unknown[] = [];
    const warn = (fields: object, text: string): void => void warned.push([fields, text]);
    witness = await witnessServe({ dataDir, listen: '127.0.0.1:0', log: { ...silentLog, warn } });
    const step = { file: 'witness.db', from: 1, to: 2 };
    expect(warned).toEqual([
      [step, 'migrating a database'],
      [{ ...step, ms: expect.any(Number) }, 'migrated a database'],
    ]);
  });

  it('a witness follows a growing log, and cosigns the same size again', async () => {
    for (const [old, size] of [
      [0, 3],
      [3, 3],
      [3, 17],
      [17, 40],
    ] as const) {
      expect((await post(witness, log.body(old, size))).status).toBe(200);
    }
    expect(witnessedLogs(dataDir)).toMatchObject([{ origin: log.origin, size: 40, keys: [log.vkey] }]);
  });

  const stranger = newLog('example.com/log');
  it.each([
    ['no request', 'x', 400, 'expected an empty line'],
    ['no note', 'old 0\n\nx', 400, 'note: expected'],
    ['an old size above the new one', log.body(9, 5), 400, 'an old size of at most 5'],
    ['a stranger’s signature', stranger.body(0, 5), 403, 'expected a signature of'],
    [
      'an unknown log',
      newLog('other.example/log').body(0, 5),
      404,
      'expected the origin of a log that this witness serves',
    ],
    ['an old size that is not the cosigned one', log.body(4, 9), 409, '0'],
    [
      'a proof that proves nothing',
      `old 0\n${Buffer.alloc(32).toString('base64')}\n\n${log.noteAt(5)}`,
      422,
      'proof',
    ],
  ])('a witness refuses %s', async (_, body, status, said) => {
    const answer = await post(witness, body);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(said);
    expect(answer.headers['content-type']).toBe(
      status === 409 ? 'text/x.tlog.size' : 'text/plain; charset=utf-8',
    );
    expect(witnessedLogs(dataDir)).toMatchObject([{ size: null }]);
  });

  it('a witness names the size that it knows, and never goes back', async () => {
    await post(witness, log.body(0, 20));
    for (const body of [log.body(0, 30), log.body(0, 20), log.body(10, 20), log.body(10, 12)]) {
      expect(await post(witness, body)).toMatchObject({ status: 409, text: '20\n' });
    }
    expect((await post(witness, log.body(20, 19))).status).toBe(400);
    expect((await post(witness, log.body(20, 30))).status).toBe(200);
  });

  it('a witness refuses a second history: shorter, of equal length, or longer', async () => {
    await post(witness, log.body(0, 20));
    const root = merkleRoot(leaves.slice(1, 21));
    const same = await post(witness, log.body(20, 20, log.noteAt(20, root)));
    expect(same).toMatchObject({ status: 409, headers: { 'content-type': 'text/plain; charset=utf-8' } });
    const longer = log.body(20, 25, log.noteAt(25, merkleRoot(leaves.slice(1, 26))));
    expect((await post(witness, longer)).status).toBe(422);
    expect((await monitor(witness, log.origin)).text).toContain(`\n20\n${rootAt(20).toString('base64')}\n`);
  });

  it('a witness shows any caller the newest cosigned checkpoint of a log', async () => {
    expect((await monitor(witness, log.origin)).status).toBe(404);
    const first = await post(witness, log.body(0, 7));
    expect(await monitor(witness, log.origin)).toMatchObject({
      status: 200,
      text: log.noteAt(7) + first.text,
    });
    const second = await post(witness, log.body(7, 8));
    expect((await monitor(witness, log.origin)).text).toBe(log.noteAt(8) + second.text);
    expect((await send('GET', `${witness.url}/`, {})).status).toBe(404);
    expect((await send('GET', `${witness.url}/add-checkpoint`, {})).status).toBe(405);
    expect((await send('POST', `${witness.url}/${'0'.repeat(64)}/checkpoint`, {})).status).toBe(405);
  });

  it('a witness adds and removes logs while it serves, and forgets no size', async () => {
    const other = newLog('example.com/other');
    expect((await post(witness, other.body(0, 5))).status).toBe(404);
    expect(addLogKeys(dataDir, [other.vkey, log.vkey])).toEqual([other.vkey]);
    expect((await post(witness, other.body(0, 5))).status).toBe(200);
    expect(() => removeLogKeys(dataDir, [other.vkey, 'x'])).toThrow(
      'expected keys of witnessed logs, got x;',
    );
    expect(addLogKeys(dataDir, [other.vkey])).toEqual([]);
    expect(removeLogKeys(dataDir, [other.vkey])).toEqual([other.vkey]);
    expect((await post(witness, other.body(5, 6))).status).toBe(404);
    addLogKeys(dataDir, [other.vkey]);
    expect(await post(witness, other.body(0, 6))).toMatchObject({ status: 409, text: '5\n' });
  });

  it('a witness trusts the old and new keys of a log that rotates them', async () => {
    const fresh = newLog(log.origin);
    await post(witness, log.body(0, 5));
    expect((await post(witness, fresh.body(5, 6))).status).toBe(403);
    addLogKeys(dataDir, [fresh.vkey]);
    expect((await post(witness, fresh.body(5, 6))).status).toBe(200);
    removeLogKeys(dataDir, [log.vkey]);
    expect((await post(witness, log.body(6, 7))).status).toBe(403);
  });

  it('a witness never states a time before that of its last cosignature', async () => {
    await post(witness, log.body(0, 5));
    nowMs -= 3_600_000;
    const { text } = await post(witness, log.body(5, 6));
    nowMs += 3_600_000;
    const [key] = witness.verifierKeys.map(parseVerifierKey);
    expect(openNote(log.noteAt(6) + text, [key!]).verified[0]?.timestampSeconds).toBe(nowMs / 1000);
  });

  it('a witness answers concurrent requests as if they came one after the other', async () => {
    const answers = await Promise.all(
      [10, 20, 30, 40, 10, 20, 30, 40].map((size) => post(witness, log.body(0, size))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  });

  it('a witness directory has at most one serving process', async () => {
    await expect(serve()).rejects.toMatchObject({ code: 'CONFLICT' });
    await witness.close();
    witness = await serve();
    expect((await post(witness, log.body(0, 5))).status).toBe(200);
  });

  it('a witness limits the size of request bodies', async () => {
    const over = limits.witnessBodyBytes + 1;
    const atMost = await post(witness, 'x'.repeat(limits.witnessBodyBytes));
    expect(atMost.status).toBe(400); // read, and no note
    const told = await post(witness, 'x'.repeat(over));
    expect([told.status, told.headers['connection']]).toEqual([413, 'close']);
    const untold = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(`${witness.url}/add-checkpoint`, { method: 'POST', agent: false });
      request.on('error', reject);
      request.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.write('x'.repeat(limits.witnessBodyBytes));
      request.write('xx');
    });
    expect(untold).toBe(413);
  });

  it('a witness closes a connection whose body stops coming, and answers others meanwhile', async () => {
    const { port, hostname } = new URL(witness.url);
    const socket = connectSocket(Number(port), hostname);
    socket.write('POST /add-checkpoint HTTP/1.1\r\nhost: w\r\ncontent-length: 100\r\n\r\nold');
    expect((await post(witness, log.body(0, 5))).status).toBe(200);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await gone;
    expect((await post(witness, log.body(5, 6))).status).toBe(200);
  });
});

describe('what a witness keeps', () => {
  it('the store of a witness refuses changes made below it', async () => {
    const dataDir = newFolder();
    await witnessInit({ dataDir });
    const log = newLog('example.com/log');
    addLogKeys(dataDir, [log.vkey]);
    const witness = await witnessServe({ dataDir, listen: '127.0.0.1:0', log: silentLog });
    await post(witness, log.body(0, 9));
    await witness.close();
    const db = connect(join(dataDir, 'witness.db'), { applicationId: witnessApplicationId });
    for (const change of [
      'UPDATE witnessed SET size = 8',
      'UPDATE witnessed SET root = zeroblob(32)',
      'UPDATE witnessed SET at_seconds = 1',
      "UPDATE witnessed SET origin = 'x'",
      'DELETE FROM witnessed',
    ]) {
      expect(() => db.exec(change), change).toThrow(/never/);
    }
    db.close();
  });

  it(`a witness accepts ${limits.trustKeys} keys of a log, and ${limits.witnessLogs} logs`, () => {
    const path = newFolder();
    mkdirSync(path);
    const store = openWitnessStore(join(path, 'witness.db'));
    const keys = Array.from({ length: limits.trustKeys + 1 }, () => parseVerifierKey(newLog('one').vkey));
    for (const key of keys.slice(1)) expect(store.addKey(key)).toBe(true);
    expect(() => store.addKey(keys[0]!)).toThrow(`at most ${limits.trustKeys} keys of a log`);
    expect(store.addKey(keys[1]!)).toBe(false);
    const db = connect(join(path, 'witness.db'), { applicationId: witnessApplicationId });
    db.exec(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${limits.witnessLogs - 1})
      INSERT INTO log_key SELECT 'log ' || i, 'key ' || i FROM n`);
    db.close();
    const named = (name: string) => parseVerifierKey(newLog(name).vkey);
    expect(store.addKey(named('last'))).toBe(true);
    expect(store.logs()).toHaveLength(limits.witnessLogs);
    expect(() => store.addKey(named('more'))).toThrow(`at most ${limits.witnessLogs} logs`);
    expect(store.addKey(named('last'))).toBe(true); // of a known log
    store.close();
  });
});

describe('gov witness', { timeout: 120_000 }, () => {
  it('gov witness init makes a whole directory for its owner alone, and finds an existing one', async () => {
    const dataDir = newFolder();
    const first = await witnessInit({ dataDir, name: 'w.example/1' });
    expect(first).toMatchObject({ created: true, name: 'w.example/1', listen: '127.0.0.1:7480' });
    expect(await witnessInit({ dataDir, name: 'other' })).toEqual({ ...first, created: false });
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, 'keys/cosigner.ed25519.pem')).mode & 0o777).toBe(0o600);
    await expect(witnessInit({ dataDir: newFolder(), name: 'two words' })).rejects.toThrow('--name');
    await expect(witnessInit({ dataDir: newFolder(), name: 'x'.repeat(256) })).rejects.toThrow('--name');
    const taken = newFolder();
    mkdirSync(taken);
    writeFileSync(join(taken, 'x'), '');
    await expect(witnessInit({ dataDir: taken })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(() => addLogKeys(newFolder(), [newLog('x').vkey])).toThrow('gov witness init');
  });

  it('gov witness add-log refuses a text that is not a key of a log', async () => {
    const dataDir = newFolder();
    const { verifierKeys } = await witnessInit({ dataDir });
    expect(() => addLogKeys(dataDir, [verifierKeys[0]!])).toThrow('expected a key of a log');
    expect(() => addLogKeys(dataDir, ['x'])).toThrow('verifier key');
  });

  it('a killed witness has stored every cosignature that it gave', async () => {
    const dataDir = newFolder();
    await witnessInit({ dataDir, name: 'w.example/1' });
    const log = newLog('example.com/log');
    addLogKeys(dataDir, [log.vkey]);
    const argv = ['witness', 'serve', '--data', dataDir, '--listen', '127.0.0.1:0'];
    let cosigned = 0;
    for (let round = 0; round < 3; round += 1) {
      const { child, baseUrl } = await serving(argv, { env: {}, cwd: folder });
      const witness = { url: baseUrl };
      expect(await post(witness, log.body(40, 40))).toMatchObject({ status: 409, text: `${cosigned}\n` });
      const ended = new Promise((resolve) => child.once('close', resolve));
      // killed while one request follows the other
      for (let size = cosigned + 1; size <= 40; size += 1) {
        if (size === cosigned + 5) setImmediate(() => child.kill('SIGKILL'));
        const answer = await post(witness, log.body(size - 1, size)).catch(() => null);
        if (answer === null) break;
        expect(answer.status).toBe(200);
        cosigned = size;
        if (size % 13 === 0) break;
      }
      child.kill('SIGKILL');
      await ended;
      // the one that was under way may have been kept without an answer
      const [kept] = witnessedLogs(dataDir);
      expect([cosigned, cosigned + 1]).toContain(kept?.size);
      cosigned = kept?.size ?? 0;
    }
  });

  it('gov witness serve serves, lists its logs, and stops on a signal', async () => {
    const dataDir = newFolder();
    const run = async (...words: string[]) => {
      const result = await gov(['witness', ...words, '--data', dataDir, '-o', 'json']);
      expect(result).toMatchObject({ code: 0 });
      return JSON.parse(result.stdout) as Record<string, unknown>;
    };
    const { verifierKeys } = await run('init', '--name', 'w.example/1');
    expect(verifierKeys).toEqual(expect.arrayContaining([expect.stringMatching(/^w\.example\/1\+/)]));
    const log = newLog('example.com/log');
    const trust = join(folder, 'trust');
    writeFileSync(trust, `log ${log.vkey}\nquorum none\n`);
    expect(await run('add-log', '--trust', trust)).toEqual({ added: [log.vkey], known: 0 });
    expect(await run('add-log', log.vkey)).toEqual({ added: [], known: 1 });
    const { baseUrl, stop } = await serving(
      ['witness', 'serve', '--data', dataDir, '--listen', '127.0.0.1:0'],
      { env: {}, cwd: folder },
    );
    expect((await post({ url: baseUrl }, log.body(0, 5))).status).toBe(200);
    expect(await run('logs')).toMatchObject({ logs: [{ origin: log.origin, size: 5, keys: [log.vkey] }] });
    expect(await run('remove-log', log.vkey)).toEqual({ removed: [log.vkey] });
    expect(await gov(['witness', 'remove-log', log.vkey, '--data', dataDir])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`see gov witness logs --data ${dataDir}`),
    });
    await stop();
    expect(readFileSync(join(dataDir, 'witness.json'), 'utf8')).toContain('w.example/1');
  });
});
