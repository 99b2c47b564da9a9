/**
 * An index witness against an operator that changed its software and holds every key: each of five ways to hide events ends
 * in a refusal with evidence. An honest log is cosigned, also after restarts, and is not accused by what goes wrong on the way.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { deriveEntries, entriesHead, wholeLog } from '../../../../src/core/evidence/entries-file.ts';
import { verifyEvidence } from '../../../../src/core/evidence/file.ts';
import { openTrustedCheckpoint, type Trust } from '../../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../../src/core/note/key.ts';
import {
  addLogKeys,
  setLogSource,
  witnessAdd,
  witnessedLogs,
  witnessInit,
  witnessServe,
  type RunningWitness,
} from '../../../../src/host/witness/server.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import { formatWitnessRequest } from '../../../../src/core/note/witness.ts';
import { hiddenLog, ways } from '../../../core/completeness/hidden.ts';
import { inChunks } from '../../../core/exports/log.ts';
import { logSigner, trust } from '../../../core/proofs/log.ts';
import { serving } from '../../../cli/support/tool.ts';
import { send } from '../../../support/serving.ts';
import { startOperator } from './operator.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-indexwitness-'));
const keyFile = join(folder, 'key');
writeFileSync(keyFile, 'a key\n');
let made = 0;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const serve = (dataDir: string): Promise<RunningWitness> =>
  witnessServe({ dataDir, index: true, listen: '127.0.0.1:0', log: silentLog, env: {} });

/** An operator, and an index witness that knows its log. */
async function start(hidden: readonly number[]) {
  const operator = await startOperator(hidden);
  const dataDir = join(folder, `${(made += 1)}`);
  await witnessInit({ dataDir, index: true });
  addLogKeys(dataDir, [logSigner.verifierKey]);
  setLogSource(dataDir, [logSigner.verifierKey], { url: operator.url, keyFile });
  let witness = await serve(dataDir);
  closing.push(
    () => operator.close(),
    () => witness.close(),
  );
  return {
    operator,
    dataDir,
    url: () => witness.url,
    stop: () => witness.close(),
    restart: async () => {
      await witness.close();
      witness = await serve(dataDir);
    },
    post: (body = operator.body()) =>
      send('POST', `${witness.url}/add-checkpoint`, { raw: body, headers: { 'content-type': 'text/plain' } }),
    by: (): Trust => ({
      ...trust,
      index: {
        witnesses: [{ name: 'W1', key: parseVerifierKey(witness.verifierKeys[0] ?? '') }],
        quorum: 1,
      },
    }),
  };
}

describe('an index witness of an operator that hides events', () => {
  it.each(ways.map((way) => [way]))(
    'refuses for good, with evidence, where the events %j are hidden',
    async (way) => {
      const { operator, dataDir, post, restart, url } = await start(way);
      const expected = `index leaf ${operator.index}: root`;
      const first = await post();
      expect([first.status, first.text]).toEqual([422, expect.stringContaining(expected)]);
      const [row] = witnessedLogs(dataDir);
      expect(row).toMatchObject({ size: null, refusal: { leaf: operator.index } });
      const { evidence = '', note = '' } = row?.refusal ?? {};
      expect(openTrustedCheckpoint(note, trust).checkpoint.size).toBe(operator.log.leaves.length);
      expect(verifyEvidence(Buffer.from(evidence ?? ''), trust)).toMatchObject({
        verified: true,
        shows: 'index_omission',
        detail: expect.stringContaining('of run hide'),
      });
      // for good: after a restart, for a later checkpoint, and without asking the operator again
      await restart();
      operator.log.record({ runId: 'later' });
      const asked = operator.asked.length;
      expect((await post()).status).toBe(422);
      expect(operator.asked.length).toBe(asked);
      expect((await send('GET', `${url()}/health`, {})).body).toMatchObject({
        status: 'refused',
        refused: [{ origin: trust.origin, leaf: operator.index }],
      });
    },
  );

  it('refuses for good also where the operator does not show its map, without a transferable evidence', async () => {
    const { operator, dataDir, post } = await start([3, 4]);
    operator.mode = 'silent';
    expect((await post()).status).toBe(422);
    expect(witnessedLogs(dataDir)[0]?.refusal).toMatchObject({ leaf: operator.index, evidence: null });
  });
});

describe('an index witness that gets the records as a file', () => {
  const fileOf =
    ({ log, note }: Awaited<ReturnType<typeof startOperator>>) =>
    () =>
      inChunks(
        Buffer.from(entriesHead(wholeLog(note())) + log.leaves.map(({ record }) => `${record}\n`).join('')),
      );

  it('cosigns an honest log, also when it grew, and refuses a false one for good', async () => {
    const honest = await start([]);
    await honest.stop();
    const read = fileOf(honest.operator);
    for (let grown = 0; grown < 2; grown++) {
      const note = await witnessAdd({ dataDir: honest.dataDir, read });
      expect(openTrustedCheckpoint(note, honest.by()).index?.by).toEqual(['W1']);
      honest.operator.log.record({ runId: 'later' });
    }
    const evil = await start([1]);
    await evil.stop();
    for (let again = 0; again < 2; again++)
      await expect(witnessAdd({ dataDir: evil.dataDir, read: fileOf(evil.operator) })).rejects.toThrow(
        `refused for good: index leaf ${evil.operator.index}`,
      );
    expect(honest.operator.asked).toEqual([]);
  });

  it('cosigns newer records alone, and names the size from which it needs them', async () => {
    const { operator, dataDir, stop, by } = await start([]);
    await stop();
    const { log } = operator;
    const first = log.leaves.length;
    await witnessAdd({ dataDir, read: fileOf(operator) });
    for (const _ of [1, 2, 3]) log.record({ runId: 'later' });
    const since = (
      of: number,
      from = first - 10,
      consistency = log.consistency(first, log.leaves.length),
    ) => {
      const records = log.leaves.slice(from).map(({ record }) => `${record}\n`);
      const head = entriesHead({ checkpoint: operator.note(), from, since: of, consistency });
      return () => inChunks(Buffer.from(head + records.join('')));
    };
    const add = (read: () => AsyncIterable<Uint8Array>) => witnessAdd({ dataDir, read });
    await expect(add(since(first + 1))).rejects.toThrow(`gov log entries --since ${first}`);
    await expect(add(since(first - 1))).rejects.toThrow(`gov log entries --since ${first}`);
    await expect(add(since(first, 1, []))).rejects.toThrow('expected a consistency proof');
    await expect(add(since(first, first))).rejects.toThrow('gov log entries without --since');
    expect(openTrustedCheckpoint(await add(since(first)), by()).index?.by).toEqual(['W1']);
    // another witness has cosigned nothing yet
    const other = await start([]);
    await other.stop();
    await expect(witnessAdd({ dataDir: other.dataDir, read: since(first) })).rejects.toThrow(
      'gov log entries without --since',
    );
    await expect(deriveEntries(since(first), trust)).rejects.toThrow('gov log entries without --since');
  });

  it('rejects a file that lacks its last record, and accuses nobody', async () => {
    const { operator, dataDir, stop } = await start([]);
    await stop();
    const whole = operator.log.leaves.map(({ record }) => `${record}\n`);
    const read = (records: readonly string[]) => () =>
      inChunks(Buffer.from(entriesHead(wholeLog(operator.note())) + records.join('')));
    await expect(witnessAdd({ dataDir, read: read(whole.slice(0, -1)) })).rejects.toThrow(
      `expected the ${whole.length} records`,
    );
    const other = [...whole.slice(0, -1), whole[0] ?? ''];
    await expect(witnessAdd({ dataDir, read: read(other) })).rejects.toThrow('do not have the signed root');
    expect(witnessedLogs(dataDir)[0]).toMatchObject({ size: null, refusal: null });
    expect(await witnessAdd({ dataDir, read: read(whole) })).toContain(operator.note());
  });
});

describe('an index witness of an honest operator', () => {
  it('cosigns, and its cosignature makes "none missing" proven', async () => {
    const { operator, post, by, url } = await start([]);
    const { status, text } = await post();
    expect(status).toBe(200);
    const opened = openTrustedCheckpoint(operator.note() + text, by());
    expect(opened.index).toEqual({ by: ['W1'], of: 1, quorum: 1 });
    expect(opened.witnessedBy).toEqual([]);
    expect((await send('GET', `${url()}/health`, {})).body).toEqual({ status: 'ok', refused: [] });
  });

  it('is behind while the log cannot be read, accuses nobody, and cosigns later', async () => {
    const { operator, dataDir, post, restart } = await start([]);
    for (const mode of ['down', 'forge'] as const) {
      operator.mode = mode;
      const { status, headers, text } = await post();
      expect([status, headers['retry-after']], text).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(witnessedLogs(dataDir)[0]).toMatchObject({ size: null, refusal: null });
    }
    await restart();
    operator.mode = 'serve';
    expect((await post()).status).toBe(200);
  });

  it('killed while it reads, it cosigns after the next start', async () => {
    const { operator, dataDir, stop } = await start([]);
    await stop();
    const argv = ['witness', 'serve', '--index', '--data', dataDir, '--listen', '127.0.0.1:0'];
    const post = (url: string) =>
      send('POST', `${url}/add-checkpoint`, {
        raw: operator.body(),
        headers: { 'content-type': 'text/plain' },
      });
    operator.mode = 'stall';
    const first = await serving(argv, { env: {}, cwd: folder });
    const cut = expect(post(first.baseUrl)).rejects.toThrow();
    await expect.poll(() => operator.asked.length).toBeGreaterThan(0);
    first.child.kill('SIGKILL');
    await cut;
    operator.mode = 'serve';
    const second = await serving(argv, { env: {}, cwd: folder });
    expect((await post(second.baseUrl)).status).toBe(200);
    await second.stop();
    expect(witnessedLogs(dataDir)[0]).toMatchObject({ size: operator.log.leaves.length, refusal: null });
  });

  it('killed between storing a checkpoint and its answer, it cosigns the same tree again and no other', async () => {
    const { operator, dataDir, stop, by } = await start([]);
    await stop();
    const { log } = operator;
    const size = log.leaves.length;
    const note = operator.note();
    const hook = join(folder, 'killed.mjs');
    writeFileSync(
      hook,
      `import { ServerResponse } from 'node:http';
       const { writeHead } = ServerResponse.prototype;
       ServerResponse.prototype.writeHead = function (status, ...rest) {
         if (status === 200) process.kill(process.pid, 'SIGKILL');
         return writeHead.call(this, status, ...rest);
       };`,
    );
    const argv = ['witness', 'serve', '--index', '--data', dataDir, '--listen', '127.0.0.1:0'];
    const post = (url: string, raw: string) =>
      send('POST', `${url}/add-checkpoint`, { raw, headers: { 'content-type': 'text/plain' } });
    const first = await serving(argv, { env: { NODE_OPTIONS: `--import=${hook}` }, cwd: folder });
    await expect(post(first.baseUrl, operator.body())).rejects.toThrow();
    await expect.poll(() => first.child.signalCode).toBe('SIGKILL');
    expect(witnessedLogs(dataDir)[0]).toMatchObject({ size, refusal: null });

    const second = await serving(argv, { env: {}, cwd: folder });
    // the log does not know that its checkpoint was stored
    expect((await post(second.baseUrl, operator.body())).text).toBe(`${size}\n`);
    const other = hiddenLog([]);
    other.log.hashes[3] = Buffer.alloc(32, 7);
    const forked = formatWitnessRequest({ oldSize: size, proof: [], note: other.log.checkpoint(size) });
    expect((await post(second.baseUrl, forked)).status).toBe(409);
    const again = await post(second.baseUrl, formatWitnessRequest({ oldSize: size, proof: [], note }));
    expect(again.status).toBe(200);
    expect(openTrustedCheckpoint(note + again.text, by()).index?.by).toEqual(['W1']);
    log.record({ runId: 'later' });
    const proof = log.consistency(size, log.leaves.length);
    const grown = await post(
      second.baseUrl,
      formatWitnessRequest({ oldSize: size, proof, note: operator.note() }),
    );
    expect(grown.status).toBe(200);
    await second.stop();
  });

  it('continues after a restart from the cosigned size, and never cosigns a smaller or another tree', async () => {
    const { operator, post, restart } = await start([]);
    const size = operator.log.leaves.length;
    expect((await post()).status).toBe(200);
    await restart();
    operator.log.record({ runId: 'later' });
    expect((await post(operator.body(size - 1))).status).toBe(409);
    expect((await post()).text).toBe(`${size}\n`);
  });

  it('a directory serves as one kind of witness alone, so that a key says one thing', async () => {
    const plain = join(folder, 'plain');
    await witnessInit({ dataDir: plain });
    await expect(serve(plain)).rejects.toThrow('gov witness init --index');
    const index = join(folder, 'index');
    await witnessInit({ dataDir: index, index: true });
    await expect(witnessServe({ dataDir: index, log: silentLog })).rejects.toThrow('--index');
  });
});
