import { readdirSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManifestChain } from '../../../src/core/forwards/chain.ts';
import type { ForwardManifest } from '../../../src/core/forwards/manifest.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { ObjectTransport } from '../../../src/host/forwards/objects.ts';
import { source } from '../../core/forwards/samples.ts';
import { batch, options, target } from './support/batches.ts';
import { ObjectStore } from './support/object-store.ts';

const store = new ObjectStore();
beforeAll(() => store.start());
afterAll(() => store.stop());

// the server checks signatures of this pair
const env = { ...options.env, KEY: 'S3RVER', SECRET: 'S3RVER' };
const s3 = (more = {}) =>
  new ObjectTransport(
    target('s3', {
      to: 's3://siem/audit',
      endpoint: store.endpoint,
      region: 'eu-central-1',
      accessKeyId: 'S3RVER',
      secretEnv: 'SECRET',
      ...more,
    }),
    { ...options, env },
  );

async function read(key: string): Promise<Buffer> {
  const aws = new AwsClient({
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
    service: 's3',
    region: 'eu-central-1',
  });
  const answer = await aws.fetch(`${store.endpoint}/siem/${key}`);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

const manifestKey = (sequence: number): string =>
  `audit/${source.projectId}/manifests/${String(sequence).padStart(10, '0')}.json`;

describe('forwarding to an object store', () => {
  it('stores gzipped records and a chain of manifests that name them', async () => {
    const transport = s3();
    let state: unknown = null;
    for (const [from, to] of [
      [0, 10],
      [10, 25],
      [30, 31],
    ] as const) {
      const sent = await transport.send(batch(from, to), state);
      if (!sent.ok) throw new Error(sent.failed);
      expect(sent.isKept).toBe(true);
      state = sent.state;
    }
    transport.close();
    const texts = await Promise.all(
      [0, 1, 2].map(async (at) => (await read(manifestKey(at))).toString('utf8')),
    );
    const chain = new ManifestChain();
    for (const text of texts) chain.add(text);
    const manifests = texts.map((text) => JSON.parse(text) as ForwardManifest);
    expect(manifests.map(({ leaves }) => leaves)).toEqual([
      { from: 0, to: 10 },
      { from: 10, to: 25 },
      { from: 25, to: 31 },
    ]);
    for (const { object } of manifests) {
      const bytes = await read(object!.key);
      expect(sha256Text(bytes)).toBe(object!.sha256);
      expect(bytes).toHaveLength(object!.bytes);
      const rows = gunzipSync(bytes).toString('utf8').trim().split('\n');
      expect(rows).toHaveLength(object!.records);
    }
    expect(gunzipSync(await read(manifests[1]!.object!.key)).toString('utf8')).toMatch(/^\{"index":10\}\n/);
  });

  it('a repetition replaces the object and the manifest by equal ones', async () => {
    const transport = s3({ to: 's3://siem/twice' });
    const first = await transport.send(batch(0, 10), null);
    const names = (): string[] =>
      readdirSync(store.folder, { recursive: true })
        .map(String)
        .filter((each) => each.includes('twice'));
    const before = names().toSorted();
    expect(await transport.send(batch(0, 10), null)).toEqual(first);
    expect(names().toSorted()).toEqual(before);
    transport.close();
  });

  it('a range without records needs no object, and the next manifest covers it', async () => {
    const transport = s3({ to: 's3://siem/empty' });
    const first = await transport.send(batch(0, 2), null);
    const state = first.ok ? first.state : null;
    expect(await transport.send({ ...batch(2, 2), to: 50 }, state)).toEqual({
      ok: true,
      isKept: true,
      state,
    });
    transport.close();
  });

  it('the server refuses a wrong secret, and a bucket that is missing is a failure', async () => {
    const wrong = new ObjectTransport(
      target('s3', {
        to: 's3://siem',
        endpoint: store.endpoint,
        region: 'r',
        accessKeyId: 'S3RVER',
        secretEnv: 'SECRET',
      }),
      { ...options, env: { SECRET: 'another' } },
    );
    expect(await wrong.send(batch(0, 1), null)).toMatchObject({
      ok: false,
      failed: expect.stringContaining('403'),
    });
    wrong.close();
    const missing = s3({ to: 's3://nowhere' });
    expect(await missing.send(batch(0, 1), null)).toMatchObject({
      ok: false,
      failed: expect.stringContaining('404'),
    });
    missing.close();
  });
});
