/** A bucket with more keys than a page of a list has, and stores that answer other things than a list. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Archive, bucketArchive } from '../../../src/host/forwards/archive.ts';
import { Bucket } from '../../../src/host/forwards/bucket.ts';
import { errorText, readPage } from '../../../src/host/forwards/store-xml.ts';
import { options, target } from './support/batches.ts';

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const inBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Lists as ListObjectsV2 does: 1,000 keys a page, in the order of their bytes, after `start-after`. */
function list(keys: readonly string[], url: URL): string {
  const prefix = url.searchParams.get('prefix') ?? '';
  const after = url.searchParams.get('start-after') ?? '';
  const found = keys.filter((key) => key.startsWith(prefix) && inBytes(key, after) > 0).toSorted(inBytes);
  const page = found.slice(0, 1000).map((key) => `<Contents><Key>${escaped(key)}</Key></Contents>`);
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${found.length > 1000}</IsTruncated>${page.join('')}</ListBucketResult>`;
}

let keys: readonly string[] = [];
let answer: (url: URL, response: ServerResponse) => void;
let asked: IncomingMessage[] = [];
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request);
    answer(new URL(request.url ?? '', 'http://store'), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => server.close());
beforeEach(() => {
  asked = [];
  answer = (url, response) => response.end(list(keys, url));
});

function archive(prefix = 'gov', more: { env?: Record<string, string>; signal?: AbortSignal } = {}): Archive {
  const place = target('s3', {
    to: 's3://siem/gov',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-central-1',
    accessKeyId: 'ID',
    secretEnv: 'AWS_SECRET_ACCESS_KEY',
  });
  const env = { ...options.env, AWS_SECRET_ACCESS_KEY: 'secret', ...more.env };
  return bucketArchive(new Bucket(place, env), prefix, more.signal);
}

async function namesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const name of archive().names(path)) names.push(name);
  return names;
}

const numbered = (count: number, folder: string): string[] =>
  Array.from({ length: count }, (_, at) => `${folder}/${String(at).padStart(10, '0')}.json`);

describe('an archive in a bucket', () => {
  it.each([0, 1, 999, 1000, 1001, 2500])('lists each of %i names once and in order', async (count) => {
    keys = [...numbered(count, 'gov/prj_a/manifests'), 'gov/prj_a/manifests0', 'gov/prj_a/manifests/sub/one'];
    const names = await namesIn('prj_a/manifests');
    expect(names).toEqual(numbered(count, '').map((name) => name.slice(1)));
    expect(asked).toHaveLength(Math.max(1, Math.ceil((count + 1) / 1000)));
  });

  it('finds each folder where folders and files fill pages, whatever their names begin with', async () => {
    keys = [
      ...numbered(1500, 'gov/a'),
      ...numbered(999, 'gov/b').map((key) => key.replace('/000', '/é000')),
      'gov/b/é1',
      'gov/b/é2',
      'gov/b.c/x',
      'gov/b0/x',
      'gov/b0',
      ...Array.from({ length: 1000 }, (_, at) => `gov/f${at}`),
      'gov/f999/x',
      'gov/f9990/x',
      'gov/é/x',
      'other/z/x',
    ];
    expect(await archive().folders('')).toEqual(['a', 'b.c', 'b', 'b0', 'f999', 'f9990', 'é']);
    expect(asked.length).toBeLessThan(7);
  });

  it('reads keys with characters that XML escapes', async () => {
    keys = ['R&D/a<b/x', 'R&D/c&amp;d/x'];
    expect(await archive('R&D').folders('')).toEqual(['a<b', 'c&amp;d']);
  });

  it('sends and signs the session token of temporary credentials, and no token beside another key', async () => {
    keys = [];
    await archive('gov', { env: { AWS_SESSION_TOKEN: 'token' } }).folders('');
    await archive().folders('');
    expect(asked.map(({ headers }) => headers['x-amz-security-token'])).toEqual(['token', undefined]);
    expect(asked[0]?.headers.authorization).toMatch(/SignedHeaders=[a-z0-9;-]*x-amz-security-token/);
  });

  it('ends with an error where a store repeats a page, or answers something else than a list', async () => {
    keys = numbered(1001, 'gov/a');
    answer = (_, response) => response.end(list(keys, new URL('http://store/?prefix=gov/')));
    await expect(namesIn('a')).rejects.toThrow(/expected keys after gov\/a\/0000000999/);
    answer = (_, response) => response.end('<html>sign in</html>');
    await expect(archive().folders('')).rejects.toThrow(/expected a list of objects/);
  });

  it('says in words why a store refused', async () => {
    const xml =
      '<?xml version="1.0"?>\n<Error><Code>PermanentRedirect</Code><Message>Use &quot;b&quot;</Message></Error>';
    answer = (_, response) => response.writeHead(301).end(xml);
    await expect(archive().folders('')).rejects.toThrow(
      'the object store answered 301: PermanentRedirect: Use "b"',
    );
  });

  it('an interruption ends a request that waits for its answer', async () => {
    const stop = new AbortController();
    answer = () => stop.abort(new Error('interrupted'));
    await expect(archive('gov', { signal: stop.signal }).folders('')).rejects.toThrow(/abort/);
    expect(asked).toHaveLength(1);
  });
});

describe('XML of an object store', () => {
  it('a page has its keys as they are stored, and says whether more follow', () => {
    const page =
      '<ListBucketResult><IsTruncated>true</IsTruncated><Key>a&#233;&#xe9;&lt;&#9999999;</Key></ListBucketResult>';
    expect(readPage(page)).toEqual({ keys: ['aéé<&#9999999;'], isTruncated: true });
    expect(readPage('<Key>a</Key>')).toBeNull();
  });

  it('an error is one line of at most 400 characters, also where it is no XML', () => {
    expect(errorText('<Error><Code>A</Code></Error>')).toBe('A');
    expect(errorText(' no\n XML ')).toBe('no XML');
    expect(errorText(`<Code>A</Code><Message>${'b'.repeat(9999)}</Message>`)).toHaveLength(400);
  });
});
