/** Prefixes of an object store as people name folders: each object lies below exactly the configured text, or none does. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ForwardManifest } from '../../../src/core/forwards/manifest.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { bucketArchive } from '../../../src/host/forwards/archive.ts';
import { Bucket } from '../../../src/host/forwards/bucket.ts';
import { targetOf } from '../../../src/host/forwards/config.ts';
import { ObjectTransport } from '../../../src/host/forwards/objects.ts';
import { verifyForwarded } from '../../../src/host/forwards/verify.ts';
import { source } from '../../core/forwards/samples.ts';
import { batch, options, target } from './support/batches.ts';
import { ObjectStore } from './support/object-store.ts';

const store = new ObjectStore();
beforeAll(() => store.start());
afterAll(() => store.stop());

const env = { SECRET: 'S3RVER' };
const file = (prefix: string, bucket = 'siem') => ({
  to: `s3://${bucket}/${prefix}`,
  endpoint: store.endpoint,
  region: 'eu-central-1',
  accessKeyId: 'S3RVER',
  secretEnv: 'SECRET',
});

// another client of the store, with an encoding of its own
const aws = new AwsClient({
  accessKeyId: 'S3RVER',
  secretAccessKey: 'S3RVER',
  service: 's3',
  region: 'eu-central-1',
});

/** All keys of the bucket: this store keeps each object in a file with the key as its path. */
const keys = (): string[] =>
  readdirSync(join(store.folder, 'siem'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('._S3rver_object'))
    .map((path) => path.slice(0, -'._S3rver_object'.length));

async function read(key: string): Promise<Buffer> {
  const path = [...Buffer.from(key)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const answer = await aws.fetch(`${store.endpoint}/siem/${path}`);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

async function send(prefix: string): Promise<void> {
  const transport = new ObjectTransport(target('s3', file(prefix)), { ...options, env });
  expect(await transport.send(batch(0, 3), null)).toMatchObject({ ok: true });
  transport.close();
}

const prefixes = [
  'team#1',
  'what?versionId=1&x',
  '50%/%41/%2e%2e/%zz',
  'two words/ first and last ',
  'Prüfung/日本/🗄',
  'Pru\u0308fung', // decomposed: another text than the one with ü
  'a+b',
  "it's (here)!*~",
  `<&>"'`,
  'back\\slash\\..',
  '...',
  'zero\u200bwidth\u202eturned',
];

describe('the prefix of an object store', () => {
  it.each(prefixes)('is the beginning of each key, character by character: %j', async (prefix) => {
    const before = new Set(keys());
    await send(prefix);
    const folder = `${prefix}/${source.projectId}`;
    const object = `${folder}/records/${'0'.padStart(16, '0')}-${'2'.padStart(16, '0')}.ndjson.gz`;
    const manifest = `${folder}/manifests/0000000000.json`;
    expect(
      keys()
        .filter((key) => !before.has(key))
        .toSorted(),
    ).toEqual([manifest, object]);
    const named = (JSON.parse((await read(manifest)).toString('utf8')) as ForwardManifest).object!;
    const bytes = await read(object);
    expect(named).toMatchObject({ key: object, bytes: bytes.length, sha256: sha256Text(bytes) });
    expect(gunzipSync(bytes).toString('utf8')).toBe('{"index":0}\n{"index":1}\n{"index":2}\n');
  });

  // this store escapes `&`, `<` and `>` twice in its lists, and signs `!'()*` in a query otherwise than RFC 3986 and AWS
  it.each(prefixes.filter((prefix) => !/[&<>!'()*]/.test(prefix)))(
    'is verified where it is: %j',
    async (prefix) => {
      await send(prefix);
      const place = target('s3', file(prefix));
      expect(place.to).toBe(`s3://siem/${prefix}`);
      const archive = bucketArchive(new Bucket(place, env), place.prefix);
      const report = await verifyForwarded(archive, { origins: [], contains: [], onProgress: () => {} });
      archive.close();
      expect(report).toMatchObject({ ok: true, chains: [{ manifests: 1, objects: 1, records: 3 }] });
    },
  );

  it('may be empty or end with one slash', () => {
    expect(target('s3', file(''))).toMatchObject({ bucket: 'siem', prefix: '', to: 's3://siem' });
    expect(target('s3', { ...file(''), to: 's3://siem' })).toMatchObject({ bucket: 'siem', prefix: '' });
    expect(target('s3', file('a/b/'))).toMatchObject({ prefix: 'a/b', to: 's3://siem/a/b' });
  });

  it.each([
    ['a parent folder', 'a/../b', `got the part '..'`],
    ['the parent of the bucket', '..', `got the part '..'`],
    ['the same folder', './a', `got the part '.'`],
    ['an empty part', 'a//b', `got the part ''`],
    ['an empty part at the start', '/a', `got the part ''`],
    ['an empty part at the end', 'a//', `got the part ''`],
    ['a newline', 'a\nb', 'control characters'],
    ['a NUL', 'a\0b', 'control characters'],
    ['a control character of Latin 1', 'a\u0085b', 'control characters'],
    ['half of a character', 'a\ud800b', 'halves of characters'],
    ['a code that is no character', 'a\uffff', 'control characters'],
  ])('with %s is refused, because not every store and copy keeps it', (_, prefix, message) => {
    expect(() => targetOf({ name: 'siem', ...file(prefix) }, { from: 'x', dataDir: '/' })).toThrow(
      `x/to: expected`,
    );
    expect(() => target('s3', file(prefix))).toThrow(message);
  });

  it.each([
    ['..', 'a bucket of letters'],
    ['', 'a bucket of letters'],
    ['siem#x', 'a bucket of letters'],
    ['siem:9000', 'a bucket of letters'],
    ['me:secret@siem', 'without a user or password'],
  ])('follows a bucket with a plain name: %j is refused', (bucket, message) => {
    expect(() => target('s3', file('a', bucket))).toThrow(message);
    expect(() => target('s3', file('a', bucket))).not.toThrow('secret@');
  });
});
