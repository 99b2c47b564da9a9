import { afterEach, describe, expect, it } from 'vitest';
import { createClient, type Client } from '../../src/client/create.ts';
import { openBundle } from '../../src/client/open.ts';
import { problem, startServer, type Handler } from './server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function clientOf(handle: Handler): Promise<{ client: Client; seen: readonly { url: string }[] }> {
  const server = await startServer(handle);
  const client = createClient({ baseUrl: server.baseUrl, apiKey: 'gov_pk_live_x', env: {}, retries: 2 });
  closers.push(
    () => server.close(),
    () => client.close(),
  );
  return { client, seen: server.seen };
}

const params = { proofId: 'prf_01jq3v5k8hf7wb3c9x2m4n6p8r' };

async function sizeOf(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const chunk of chunks) size += chunk.length;
  return size;
}

describe('a bundle that arrives piece by piece', () => {
  it('a bundle is asked for with its query and credential, and arrives in pieces', async () => {
    const { client, seen } = await clientOf(({ headers }, response) => {
      expect(headers['authorization']).toBe('Bearer gov_pk_live_x');
      response.end(Buffer.alloc(3_000_000));
    });
    const { chunks } = await openBundle(client, { params, query: { events: 'disclosed' } });
    expect(await sizeOf(chunks)).toBe(3_000_000);
    expect(seen.map(({ url }) => url)).toEqual([
      expect.stringMatching(/\/proofs\/prf_01jq3v5k8hf7wb3c9x2m4n6p8r\/bundle\?events=disclosed$/),
    ]);
  });

  it('a bundle is asked for again while the service is overloaded, and a refusal is thrown', async () => {
    let calls = 0;
    const { client } = await clientOf((_seen, response) => {
      if (calls++ === 0) problem(response, 'OVERLOADED', 503);
      else response.end('{}');
    });
    expect(await sizeOf((await openBundle(client, { params })).chunks)).toBe(2);
    const missing = await clientOf((_seen, response) => problem(response, 'NOT_FOUND', 404));
    await expect(openBundle(missing.client, { params })).rejects.toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    });
    expect(missing.seen).toHaveLength(1);
  });

  it('a bundle that breaks off throws instead of ending', async () => {
    const { client } = await clientOf((_seen, response) => {
      response.writeHead(200, { 'content-length': '1000000' });
      response.write(Buffer.alloc(500_000), () => response.destroy());
    });
    const { chunks } = await openBundle(client, { params });
    await expect(sizeOf(chunks)).rejects.toMatchObject({ name: 'GovNetworkError' });
  });
});
