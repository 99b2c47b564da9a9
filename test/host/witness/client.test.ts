/** The client of witnesses against servers that answer anything: what is sent, what is kept, what is said of it. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { ed25519Cosigner, ed25519Signer } from '../../../src/core/note/checkpoint.ts';
import { type NoteSigner, signatureLine, splitNote } from '../../../src/core/note/signed.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { parseWitnessRequest, type WitnessRequest } from '../../../src/core/note/witness.ts';
import { LogWitnesses } from '../../../src/host/witness/client.ts';
import type { WitnessesOptions } from '../../../src/host/witness/options.ts';
import { Checkpoints, type SignedCheckpoint } from '../../../src/service/log/checkpoints.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { Project } from '../../../src/store/port/store.ts';
import { openStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';

const project: Project = {
  projectId: 'prj_a',
  organizationId: 'org_a',
  environment: 'production',
  auditOrigin: 'gov.local/a/audit',
  meteringOrigin: 'gov.local/a/metering/0',
};
const newKey = () => generateKeyPairSync('ed25519').privateKey;
const log = ed25519Signer(project.auditOrigin, newKey());
const cosigner = ed25519Cosigner('w.example/1', newKey());
const stranger = ed25519Cosigner('w.example/1', newKey());
const time = { timestampSeconds: 1_767_225_600 };

let folder: string;
let store: SqliteStore;
let nowMs: number;
const ends: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gov-witnesses-'));
  nowMs = 1_767_225_600_000;
  store = openStore({ dataDir: folder, clock: { now: () => nowMs }, randomBytes, reserveBytes: 0 });
  await store.createProject(project, draftLeaf('gov.genesis/1', {}));
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Said {
  readonly status: number;
  readonly type?: string;
  readonly body: string;
}
type Answer = (request: WitnessRequest, count: number) => Said | Promise<Said>;

/** A server that answers what it is told to, and what it was sent. */
async function serverOf(answer: Answer): Promise<{ url: string; seen: WitnessRequest[] }> {
  const seen: WitnessRequest[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const read = parseWitnessRequest(Buffer.concat(chunks));
      seen.push(read);
      void Promise.resolve(answer(read, seen.length)).then(({ status, type = 'text/plain', body }) =>
        response.writeHead(status, { 'content-type': type, location: '/elsewhere' }).end(body),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function witnessesOf(url: string, options: Partial<WitnessesOptions> = {}): LogWitnesses {
  const made = new LogWitnesses({
    witnesses: [{ url, key: parseVerifierKey(cosigner.verifierKey) }],
    quorum: 0,
    waitSeconds: 0,
    store,
    now: () => nowMs,
    random: () => 0, // the shortest waits: half a second, one, two …
    log: silentLog,
    connection: { env: {} },
    ...options,
  });
  ends.push(() => made.stop());
  return made;
}

const lineOf = ({ note }: Pick<WitnessRequest, 'note'>, by: NoteSigner = cosigner): string =>
  signatureLine(splitNote(note).text, by, time);
const cosigned: Answer = (request) => ({ status: 200, body: lineOf(request) });
const sizeOf = ({ note }: WitnessRequest): number => Number(note.split('\n')[1]);

async function sign(leaves = 1): Promise<SignedCheckpoint> {
  const drafts = Array.from({ length: leaves }, () => draftLeaf('gov.config/1', { n: 1 }));
  await store.append({ projectId: 'prj_a', leaves: drafts, meter: { op: 'none', units: 0 } });
  return new Checkpoints({ store, now: () => nowMs, log: silentLog, signers: () => [log] }).sign('prj_a');
}

/** Asks until it holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(holds, { timeout: 50_000, interval: 10 });
}
const noteAt = async (size: number): Promise<string> =>
  (await store.checkpointFrom('prj_a', 'audit', size)) ?? '';

describe('what is kept', { timeout: 60_000 }, () => {
  it('a cosigned note keeps only the line of the configured key, with the checkpoint', async () => {
    const { url } = await serverOf((request) => ({
      status: 200,
      body:
        lineOf(request, stranger) + lineOf(request) + `— someone ${Buffer.alloc(40).toString('base64')}\n`,
    }));
    const signed = await sign();
    witnessesOf(url).signed('prj_a', signed);
    await until(async () => (await noteAt(signed.checkpoint.size)) !== signed.note);
    expect(await noteAt(signed.checkpoint.size)).toBe(signed.note + lineOf(signed));
  });

  const size = { type: 'text/x.tlog.size' };
  const answers: Readonly<Record<string, Answer>> = {
    nothing: () => ({ status: 200, body: '' }),
    'no lines': () => ({ status: 200, body: 'ok\n' }),
    'a line of another key': (request) => ({ status: 200, body: lineOf(request, stranger) }),
    'a line of the log itself': (request) => ({ status: 200, body: lineOf(request, log) }),
    'a line over another text': () => ({ status: 200, body: signatureLine('a\n1\nb\n', cosigner, time) }),
    'a line that is cut off': (request) => ({ status: 200, body: lineOf(request).slice(0, -9) }),
    'a redirection': () => ({ status: 307, body: '' }),
    'an error': () => ({ status: 500, body: 'x' }),
    'that it does not know the log': () => ({ status: 404, body: 'x' }),
    'that it does not know the key': () => ({ status: 403, body: 'x' }),
    'a size that is none': () => ({ status: 409, body: '07\n', ...size }),
    'the size that was sent': (request) => ({ status: 409, body: `${request.oldSize}\n`, ...size }),
    'ever other sizes': (_, count) => ({ status: 409, body: `${1 + (count % 2)}\n`, ...size }),
  };
  it('an invalid answer of a witness is not stored, and health reports it after a minute', async () => {
    const signed = await sign(5);
    const asked = await Promise.all(
      Object.entries(answers).map(async ([name, answer]) => {
        const { url, seen } = await serverOf(answer);
        const witnesses = witnessesOf(url);
        witnesses.signed('prj_a', signed);
        return { name, seen, witnesses, url };
      }),
    );
    // it is asked again, so the first answer was judged
    const again = (name: string): number => (name === 'ever other sizes' ? 4 : 2);
    await until(() => asked.every(({ name, seen }) => seen.length >= again(name)));
    expect(await noteAt(6)).toBe(signed.note);
    for (const { name, witnesses, url } of asked) {
      const isRefused = name === 'a size that is none';
      nowMs = 1_767_225_600_000 + limits.witnessSilentSeconds * 1000;
      if (!isRefused) expect(witnesses.reasons(), name).toEqual([]);
      nowMs += 1000;
      const told = isRefused ? 'witness_refused' : `witness_silent: ${url} has not cosigned for 61 s`;
      expect(witnesses.reasons()[0], name).toContain(told);
    }
  });

  it('a witness that saw another history gives no cosignature, and health reports it at once', async () => {
    const signed = await sign(5);
    const refusals: Readonly<Record<string, Said>> = {
      'it answered 422': { status: 422, body: 'no' },
      'it answered 409': { status: 409, body: 'another root' },
      'has cosigned 900 leaves of this log, which has 6': { status: 409, body: '900\n', ...size },
    };
    for (const [told, said] of Object.entries(refusals)) {
      const { url } = await serverOf(() => said);
      const witnesses = witnessesOf(url);
      witnesses.signed('prj_a', signed);
      await until(() => witnesses.reasons().length > 0);
      expect(witnesses.reasons()[0]).toContain(told);
      expect(witnesses.reasons()[0]).toMatch(/^witness_refused: http/);
    }
    expect(await noteAt(6)).toBe(signed.note);
  });

  it('a stored cosignature shows a later process whether a witness forgot the log', async () => {
    const { url } = await serverOf(cosigned);
    const before = [await sign(), await sign(), await sign()];
    const witnesses = witnessesOf(url);
    for (const signed of before) {
      witnesses.signed('prj_a', signed);
      await until(async () => (await noteAt(signed.checkpoint.size)) !== signed.note);
    }
    const [oldest, , newest] = before.map(({ checkpoint }) => checkpoint.size);
    const knows = async (known: number | undefined): Promise<readonly string[]> => {
      const { url: other } = await serverOf((request, count) =>
        request.oldSize === known
          ? cosigned(request, count)
          : { status: 409, body: `${String(known)}\n`, ...size },
      );
      const later = witnessesOf(other);
      const signed = await sign();
      later.signed('prj_a', signed);
      await until(async () => (await noteAt(signed.checkpoint.size)) !== signed.note);
      await later.stop();
      return later.reasons();
    };
    expect(await knows(newest)).toEqual([]);
    const said = `cosigned ${(newest ?? 0) - 1} leaves of a log, and knows ${oldest} now: an older copy`;
    expect(await knows(oldest)).toEqual([expect.stringMatching(`^witness_behind: .*${said}`)]);
    expect(await knows(0)).toEqual([expect.stringContaining('and knows 0 now: an older copy')]);
  });

  it(`an answer of a witness has at most ${limits.witnessAnswerBytes} bytes`, async () => {
    const signed = await sign();
    const own = lineOf(signed);
    const padded = (bytes: number): string => {
      const room = bytes - own.length - '— x \n'.length - 4; // dashes have three bytes each
      const rest = Buffer.alloc(Math.floor(room / 4) * 3).toString('base64');
      const line = `— ${'x'.repeat(1 + (room % 4))} ${rest}\n`;
      expect(Buffer.byteLength(line + own)).toBe(bytes);
      return line + own;
    };
    const over = await serverOf(() => ({ status: 200, body: padded(limits.witnessAnswerBytes + 1) }));
    witnessesOf(over.url).signed('prj_a', signed);
    await until(() => over.seen.length >= 2);
    expect(await noteAt(signed.checkpoint.size)).toBe(signed.note);
    const most = await serverOf(() => ({ status: 200, body: padded(limits.witnessAnswerBytes) }));
    witnessesOf(most.url).signed('prj_a', signed);
    await until(async () => (await noteAt(signed.checkpoint.size)) === signed.note + own);
  });
});

describe('what is sent', { timeout: 60_000 }, () => {
  /** A witness that answers the first request when it is told to. */
  async function held() {
    const first = Promise.withResolvers<void>();
    const server = await serverOf(async (request, count) => {
      if (count === 1) await first.promise;
      return cosigned(request, count);
    });
    return { ...server, release: first.resolve };
  }

  it('a witness gets the newest of several new checkpoints, from the size that it knows', async () => {
    const { url, seen, release } = await held();
    const witnesses = witnessesOf(url);
    const all = [await sign()];
    witnesses.signed('prj_a', all[0]!);
    await until(() => seen.length === 1);
    for (let n = 0; n < 5; n += 1) {
      all.push(await sign(3));
      witnesses.signed('prj_a', all.at(-1)!);
    }
    release();
    const [oldest, newest] = [all[0]!.checkpoint.size, all.at(-1)!.checkpoint.size];
    await until(async () => (await noteAt(newest)) !== all.at(-1)!.note);
    expect(seen.map((request) => [request.oldSize, sizeOf(request)])).toEqual([
      [0, oldest],
      [oldest, newest],
    ]);
    // nothing new, nothing sent
    witnesses.signed('prj_a', all.at(-1)!);
    await witnesses.stop();
    expect(seen).toHaveLength(2);
  });

  it('a witness gets the checkpoint of the log without the lines of other witnesses', async () => {
    const { url, seen } = await serverOf(cosigned);
    const signed = await sign();
    const other = ed25519Cosigner('w.example/2', newKey());
    witnessesOf(url).signed('prj_a', { ...signed, note: signed.note + lineOf(signed, other) });
    await until(() => seen.length === 1);
    expect(seen[0]?.note).toBe(signed.note);
  });

  it('a witness also gets the checkpoints that proofs wait for, the smallest first', async () => {
    const { url, seen, release } = await held();
    const witnesses = witnessesOf(url, { waitSeconds: limits.witnessWaitSeconds });
    const all: SignedCheckpoint[] = [];
    for (let n = 0; n < 4; n += 1) all.push(await sign());
    witnesses.signed('prj_a', all[0]!);
    await until(() => seen.length === 1);
    const waited = [all[1]!, all[2]!].map((signed) => witnesses.cosigned('prj_a', signed));
    witnesses.signed('prj_a', all[3]!);
    release();
    await Promise.all(waited);
    await until(() => seen.length === 4);
    expect(seen.map(sizeOf)).toEqual(all.map(({ checkpoint }) => checkpoint.size));
    await witnesses.cosigned('prj_a', all[3]!); // is cosigned, so nobody waits
  });

  it(`a witness gets at most ${limits.witnessWanted} checkpoints that proofs wait for, and the newest`, async () => {
    const { url, seen, release } = await held();
    const witnesses = witnessesOf(url, { waitSeconds: 1 });
    const first = await sign();
    witnesses.signed('prj_a', first);
    await until(() => seen.length === 1);
    const all: SignedCheckpoint[] = [];
    for (let n = 0; n < limits.witnessWanted + 2; n += 1) all.push(await sign());
    const waits = all.map((signed) => witnesses.cosigned('prj_a', signed));
    release();
    await until(async () => (await noteAt(all.at(-1)!.checkpoint.size)) !== all.at(-1)!.note);
    const wanted = [first, ...all].map(({ checkpoint }) => checkpoint.size);
    expect(seen.map(sizeOf)).toEqual([wanted[0], ...wanted.slice(-limits.witnessWanted - 1)]);
    await Promise.all(waits);
  });

  it('a proof does not wait for a witness beyond its time, or at all without one', async () => {
    const { url, release } = await held();
    const signed = await sign();
    await witnessesOf(url, { waitSeconds: 0 }).cosigned('prj_a', signed);
    const started = performance.now();
    await witnessesOf(url, { waitSeconds: 1 }).cosigned('prj_a', signed);
    release();
    expect(performance.now() - started).toBeGreaterThan(900);
  });

  it('a proof waits for as many cosignatures as the quorum needs', async () => {
    const quick = await serverOf(cosigned);
    const slow = await held();
    const other = ed25519Cosigner('w.example/2', newKey());
    const witnesses = [
      { url: quick.url, key: parseVerifierKey(cosigner.verifierKey) },
      { url: slow.url, key: parseVerifierKey(other.verifierKey) },
    ];
    const made = witnessesOf('', { witnesses, quorum: 1, waitSeconds: limits.witnessWaitSeconds });
    await made.cosigned('prj_a', await sign()); // the test's time is its proof
    slow.release();
  });

  it('a checkpoint is not sent through an unusable proxy, and health reports it', async () => {
    const env = { HTTP_PROXY: 'socks5://127.0.0.1:1', NO_PROXY: '' };
    const witnesses = witnessesOf('http://witness.example', { connection: { env } });
    const signed = await sign();
    const { checkpoint } = signed;
    witnesses.signed('prj_a', signed);
    await until(() => {
      nowMs += (limits.witnessSilentSeconds + 1) * 1000;
      return witnesses.reasons().length > 0;
    });
    expect(witnesses.reasons()[0]).toContain('witness_silent: http://witness.example');
    expect(await noteAt(checkpoint.size)).toBe(signed.note);
  });

  it('requests to a witness end when the plane stops, whatever the witness does', async () => {
    const { url, seen } = await serverOf(() => new Promise<Said>(() => {}));
    const witnesses = witnessesOf(url);
    witnesses.signed('prj_a', await sign());
    await until(() => seen.length === 1);
    await witnesses.stop();
    witnesses.signed('prj_a', await sign());
    expect(seen).toHaveLength(1);
  });
});
