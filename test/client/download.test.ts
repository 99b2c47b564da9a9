import { createHash, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createClient, type Client } from '../../src/client/create.ts';
import { downloadExport, type DownloadSink } from '../../src/client/download.ts';
import { exportId, startCuttingProxy, startExportServer, type ExportServer } from './exportserver.ts';
import { startServer } from './server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const hashOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Bytes in memory. */
function memory(held = Buffer.alloc(0)): DownloadSink & { bytes: Buffer; restarts: number } {
  const sink = {
    held: held.length,
    bytes: held,
    restarts: 0,
    async *read() {
      yield sink.bytes;
    },
    write: async (chunk: Uint8Array) => void (sink.bytes = Buffer.concat([sink.bytes, chunk])),
    restart: async () => {
      sink.bytes = Buffer.alloc(0);
      sink.restarts += 1;
    },
  };
  return sink;
}

async function serving(artifact: Buffer): Promise<ExportServer> {
  const server = await startExportServer(artifact);
  closers.push(() => server.close());
  return server;
}

function clientAt(baseUrl: string, more = {}): Client {
  const client = createClient({ baseUrl, env: {}, retries: 2, ...more });
  closers.push(() => client.close());
  return client;
}

const portOf = ({ server }: ExportServer) => (server.address() as AddressInfo).port;

describe('a download', () => {
  const artifact = randomBytes(3_000_000);
  const asked = { exportId, sha256: hashOf(artifact), sizeBytes: artifact.length };

  it(
    'a download that is cut ten times ends with the same bytes and requests each byte once',
    { timeout: 60_000 },
    async () => {
      const server = await serving(artifact);
      const proxy = await startCuttingProxy(portOf(server), { after: 250_000, times: 10 });
      closers.push(() => proxy.close());
      const sink = memory();
      const got = await downloadExport(clientAt(proxy.baseUrl), sink, asked);
      expect(got).toEqual({ sizeBytes: artifact.length, sha256: asked.sha256 });
      expect(sink.bytes.equals(artifact)).toBe(true);
      expect(proxy.cuts).toBe(10);
      expect(sink.restarts).toBe(0);
      expect(server.ranges).toHaveLength(11);
      expect(server.ranges.slice(1).every((range) => range !== null)).toBe(true);
    },
  );

  it('a download continues after the bytes that it already has and does not request them again', async () => {
    const server = await serving(artifact);
    const sink = memory(artifact.subarray(0, 1_000_000));
    await downloadExport(clientAt(server.baseUrl), sink, asked);
    expect(server.ranges).toEqual(['bytes=1000000-']);
    expect(sink.bytes.equals(artifact)).toBe(true);
  });

  it(
    'a download starts again when the artifact changes during the download',
    { timeout: 60_000 },
    async () => {
      const server = await serving(artifact);
      const other = randomBytes(1_000_000);
      const change = () => void (server.artifact = other);
      const proxy = await startCuttingProxy(portOf(server), { after: 250_000, times: 1, onCut: change });
      closers.push(() => proxy.close());
      const sink = memory();
      const got = await downloadExport(clientAt(proxy.baseUrl), sink, asked);
      expect(got.sha256).toBe(hashOf(other));
      expect(sink.restarts).toBe(1);
      expect(sink.bytes.equals(other)).toBe(true);
    },
  );

  it('a download restarts when the local file is too long, and ends when the file is complete', async () => {
    const server = await serving(artifact);
    const longer = memory(Buffer.concat([artifact, Buffer.from('x')]));
    expect((await downloadExport(clientAt(server.baseUrl), longer, asked)).sha256).toBe(asked.sha256);
    const whole = memory(artifact);
    expect((await downloadExport(clientAt(server.baseUrl), whole, asked)).sha256).toBe(asked.sha256);
    expect(server.ranges).toEqual(['bytes=3000001-', null]);
  });

  it('a download fails when its bytes do not match the expected hash', async () => {
    const server = await serving(artifact);
    const wrong = memory(Buffer.concat([Buffer.from('x'), artifact.subarray(1, 1000)]));
    await expect(downloadExport(clientAt(server.baseUrl), wrong, asked)).rejects.toMatchObject({
      code: 'INTEGRITY',
    });
    server.headers = { 'repr-digest': `sha-256=:${createHash('sha256').digest('base64')}:` };
    await expect(downloadExport(clientAt(server.baseUrl), memory(), asked)).rejects.toMatchObject({
      code: 'INTEGRITY',
      retryable: false,
    });
  });

  it('a download accepts no byte beyond the size of the export when the response has no length', async () => {
    const endless = (extra: number) =>
      startServer((_seen, response) => {
        response.writeHead(200, { etag: `"${asked.sha256.slice(7)}"` });
        response.write(artifact);
        if (extra > 0) response.write(randomBytes(extra));
        response.end();
      });
    const [exact, more] = [await endless(0), await endless(1)];
    closers.push(
      () => exact.close(),
      () => more.close(),
    );
    expect((await downloadExport(clientAt(exact.baseUrl), memory(), asked)).sha256).toBe(asked.sha256);
    const sink = memory();
    await expect(downloadExport(clientAt(more.baseUrl), sink, asked)).rejects.toMatchObject({
      code: 'INTEGRITY',
    });
    expect(sink.bytes.length).toBeLessThanOrEqual(artifact.length);
  });

  it('a download fails when the artifact changes again and again', { timeout: 60_000 }, async () => {
    const server = await serving(artifact);
    const change = () => void (server.artifact = randomBytes(1_000_000));
    const proxy = await startCuttingProxy(portOf(server), { after: 250_000, times: Infinity, onCut: change });
    closers.push(() => proxy.close());
    const sink = memory();
    const client = clientAt(proxy.baseUrl, { retries: 10 });
    await expect(downloadExport(client, sink, asked)).rejects.toMatchObject({ code: 'INTEGRITY' });
    expect(sink.restarts).toBe(3);
  });

  it('a download fails after its retries when no more bytes arrive', async () => {
    const server = await serving(artifact);
    const proxy = await startCuttingProxy(portOf(server), { after: 0, times: Infinity });
    closers.push(() => proxy.close());
    await expect(downloadExport(clientAt(proxy.baseUrl), memory(), asked)).rejects.toMatchObject({
      name: 'GovNetworkError',
      retryable: true,
    });
    expect(proxy.cuts).toBe(3);
  });

  it(
    'a download times out on a silent connection, but not on a slow reader',
    { timeout: 60_000 },
    async () => {
      const silent = await startServer((_seen, response) => {
        response.writeHead(200, { 'content-length': 10 });
        response.write('x');
      });
      closers.push(() => silent.close());
      const client = clientAt(silent.baseUrl, { timeoutMs: 50, retries: 0 });
      await expect(downloadExport(client, memory(), asked)).rejects.toMatchObject({ code: 'TIMEOUT' });
      const server = await serving(artifact);
      const slow = memory();
      let pauses = 1;
      const write = async (chunk: Uint8Array) => {
        if (pauses-- > 0) await vi.advanceTimersByTimeAsync(1500);
        await slow.write(chunk);
      };
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const patient = clientAt(server.baseUrl, { timeoutMs: 1000, retries: 0 });
      const got = await downloadExport(patient, { ...slow, write }, asked);
      expect(got.sha256).toBe(asked.sha256);
    },
  );

  it('a download fails with the problem that the service returned', async () => {
    const server = await serving(artifact);
    server.metadata = { status: 'processing' };
    await expect(downloadExport(clientAt(server.baseUrl), memory(), asked)).rejects.toMatchObject({
      status: 409,
      code: 'EXPORT_NOT_READY',
    });
  });

  it('a download stops when its signal aborts and leaves no connection open', async () => {
    const server = await serving(artifact);
    const stop = new AbortController();
    const sink = memory();
    const write = async () => stop.abort(new Error('enough'));
    const download = downloadExport(
      clientAt(server.baseUrl),
      { ...sink, write },
      { ...asked, signal: stop.signal },
    );
    await expect(download).rejects.toThrow('enough');
  });

  it('a download sends the credential and accepts no compression', async () => {
    const server = await serving(artifact);
    await downloadExport(clientAt(server.baseUrl, { apiKey: 'gov_k' }), memory(), asked);
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer gov_k',
      'accept-encoding': 'identity',
    });
  });
});
