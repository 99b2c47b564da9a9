/** Archives of an object store, whole and altered: in a bucket, and in a folder with a copy of it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { manifestText, type ForwardManifest } from '../../../src/core/forwards/manifest.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { type Archive, bucketArchive, folderArchive } from '../../../src/host/forwards/archive.ts';
import { Bucket } from '../../../src/host/forwards/bucket.ts';
import { ObjectTransport } from '../../../src/host/forwards/objects.ts';
import { verifyForwarded } from '../../../src/host/forwards/verify.ts';
import { source } from '../../core/forwards/samples.ts';
import { batch, options, target } from './support/batches.ts';
import { ObjectStore } from './support/object-store.ts';

const store = new ObjectStore();
const folder = mkdtempSync(join(tmpdir(), 'gov-archive-'));
beforeAll(() => store.start());
afterAll(async () => {
  await store.stop();
  rmSync(folder, { recursive: true, force: true });
});

const env = { SECRET: 'S3RVER' };
const place = (prefix: string) =>
  target('s3', {
    to: `s3://siem/${prefix}`,
    endpoint: store.endpoint,
    region: 'eu-central-1',
    accessKeyId: 'S3RVER',
    secretEnv: 'SECRET',
  });

async function send(prefix: string, projectId: string, ends: readonly number[]): Promise<void> {
  const transport = new ObjectTransport(place(prefix), { ...options, env });
  let state: unknown = null;
  let from = 0;
  for (const to of ends) {
    const sent = await transport.send({ ...batch(from, to), source: { ...source, projectId } }, state);
    if (!sent.ok) throw new Error(sent.failed);
    state = sent.state;
    from = to;
  }
  transport.close();
}

const bucket = (prefix: string): Archive => bucketArchive(new Bucket(place(prefix), env), prefix);

/** Copies a project of an archive into a folder, as `aws s3 sync` would. */
async function copied(from: Archive, projectId: string): Promise<string> {
  const to = mkdtempSync(join(folder, 'copy-'));
  for (const part of ['manifests', 'records'])
    for await (const name of from.names(`${projectId}/${part}`)) {
      const path = join(to, projectId, part, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, (await from.read(`${projectId}/${part}/${name}`, 1e6))!);
    }
  return to;
}

const verified = (archive: Archive, more: { origins?: string[]; contains?: string[] } = {}) =>
  verifyForwarded(archive, { origins: [], contains: [], onProgress: () => {}, ...more });

const ends = Array.from({ length: 20 }, (_, at) => 3 * (at + 1));
const name = (sequence: number) => `${String(sequence).padStart(10, '0')}.json`;

describe('verifying forwarded objects in a bucket', () => {
  it('an archive of several projects is whole, and its report says how far it reaches', async () => {
    await send('both', 'prj_a', ends);
    await send('both', 'prj_b', [7]);
    await send('both', 'gov-forward-test', [1]);
    const report = await verified(bucket('both'), { origins: [source.origin] });
    expect(report).toMatchObject({ ok: true, problems: [] });
    expect(report.chains).toMatchObject([
      {
        projectId: 'prj_a',
        origin: source.origin,
        manifests: 20,
        objects: 20,
        records: 60,
        leaves: { from: 0, to: 60 },
      },
      { projectId: 'prj_b', manifests: 1, records: 7 },
    ]);
    const again = await verified(bucket('both'), { contains: [report.chains[0]!.head!] });
    expect(again.ok).toBe(true);
    expect((await verified(bucket('both/prj_a'))).chains).toMatchObject([
      { projectId: 'prj_a', manifests: 20 },
    ]);
  });

  it('a bucket without manifests, a missing bucket and a wrong secret are errors, not whole archives', async () => {
    await expect(verified(bucket('nothing'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const other = { ...place('x'), bucket: 'other' };
    await expect(verified(bucketArchive(new Bucket(other, env), 'x'))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    const wrong = bucketArchive(new Bucket(place('both'), { SECRET: 'another' }), 'both');
    await expect(verified(wrong)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('verifying forwarded objects in a folder', () => {
  let root: string;
  let at: (path: string) => string;
  beforeAll(() => send('copy', 'prj_a', ends));
  beforeEach(async () => {
    root = await copied(bucket('copy'), 'prj_a');
    at = (path) => join(root, 'prj_a', path);
  });
  const problems = async (more = {}) => {
    const { ok, chains, problems: others } = await verified(folderArchive(root), more);
    expect(ok).toBe(false);
    return [...chains.flatMap((chain) => chain.problems), ...others];
  };
  const records = (to: number) =>
    `records/${String(to - 3).padStart(16, '0')}-${String(to - 1).padStart(16, '0')}.ndjson.gz`;
  const rewrite = (sequence: number, change: (manifest: ForwardManifest) => ForwardManifest): void => {
    const path = at(`manifests/${name(sequence)}`);
    writeFileSync(path, manifestText(change(JSON.parse(readFileSync(path, 'utf8')) as ForwardManifest)).text);
  };

  it('a copy of the bucket is whole', async () => {
    expect(await verified(folderArchive(root))).toMatchObject({
      ok: true,
      chains: [{ manifests: 20, records: 60 }],
    });
  });

  it('finds a flipped byte, a truncated, a missing and a swapped object, each by name', async () => {
    const flipped = readFileSync(at(records(3)));
    flipped[12]! ^= 1;
    writeFileSync(at(records(3)), flipped);
    writeFileSync(at(records(6)), readFileSync(at(records(6))).subarray(0, -1));
    unlinkSync(at(records(9)));
    const [one, other] = [at(records(12)), at(records(15))];
    const kept = readFileSync(one);
    writeFileSync(one, readFileSync(other));
    writeFileSync(other, kept);
    const found = await problems();
    expect(found).toHaveLength(5);
    expect(found[0]).toContain(`${name(0)}: ${records(3)}: expected sha256:`);
    expect(found[1]).toMatch(/expected \d+ bytes, got \d+/);
    expect(found[2]).toContain('expected the object, got none');
    for (const each of found.slice(3)) expect(each).toMatch(/expected (sha256|\d+ bytes)/);
  });

  it('finds an object with another number of records than its manifest says', async () => {
    const last = at(records(60));
    const bytes = gzipSync(Buffer.concat([gunzipSync(readFileSync(last)), Buffer.from('{}\n')]));
    writeFileSync(last, bytes);
    const named = { bytes: bytes.length, sha256: sha256Text(bytes) };
    rewrite(19, (manifest) => ({ ...manifest, object: { ...manifest.object!, ...named } }));
    expect((await problems())[0]).toContain('expected 3 records, got 4');
    writeFileSync(last, 'no gzip');
    const plain = { bytes: 7, sha256: sha256Text('no gzip') };
    rewrite(19, (manifest) => ({ ...manifest, object: { ...manifest.object!, ...plain } }));
    expect((await problems())[0]).toContain('expected gzipped lines');
  });

  it.each<[string, () => void, string]>([
    ['a missing manifest', () => unlinkSync(at(`manifests/${name(5)}`)), `${name(6)}: expected ${name(5)}`],
    [
      'a missing first manifest',
      () => unlinkSync(at(`manifests/${name(0)}`)),
      `${name(1)}: expected ${name(0)}`,
    ],
    [
      'two manifests in another order',
      () => {
        const [one, other] = [5, 6].map((sequence) => at(`manifests/${name(sequence)}`)) as [string, string];
        const kept = readFileSync(one);
        writeFileSync(one, readFileSync(other));
        writeFileSync(other, kept);
      },
      '/sequence: expected 5',
    ],
    [
      'a manifest of another log',
      () => rewrite(0, (each) => ({ ...each, origin: 'other' })),
      '/previous: expected the hash',
    ],
    ['a truncated manifest', () => writeFileSync(at(`manifests/${name(3)}`), '{"leaves"'), name(3)],
  ])('finds %s', async (_, damage, fault) => {
    damage();
    const found = await problems();
    expect(found.join('\n')).toContain(fault);
  });

  it('finds a whole chain of another log, a removed end and a rewritten chain by what the caller knows', async () => {
    const { head } = (await verified(folderArchive(root))).chains[0]!;
    expect(await problems({ origins: ['example.com/another/audit'] })).toEqual([
      'no chain is of the log example.com/another/audit',
      `prj_a: expected one of the given logs, got ${source.origin}`,
    ]);
    unlinkSync(at(`manifests/${name(19)}`));
    expect((await verified(folderArchive(root))).ok).toBe(true);
    expect(await problems({ contains: [head] })).toEqual([`no chain has the manifest ${head}`]);
  });
});
