/** A file server that answers as /exports does, and a proxy that cuts what passes; both on loopback. */
import { createHash } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { json, problem, startServer, type TestServer } from './server.ts';

export const exportId = 'exp_01kfn3v5k8hf7wb3c9x2m4n6p8';

export interface ExportServer extends TestServer {
  /** What is downloaded from now on. */
  artifact: Buffer;
  /** Of the metadata, beside what the artifact gives. */
  metadata: Record<string, unknown>;
  /** Headers of a download, beside the usual ones. */
  headers: Record<string, string>;
  /** The ranges that were asked for, in order; null for the whole. */
  readonly ranges: (string | null)[];
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

export async function startExportServer(artifact: Buffer): Promise<ExportServer> {
  const server = await startServer((seen, response) => {
    const { artifact: bytes } = served;
    const hash = sha256(bytes);
    if (!seen.url.includes('/download')) {
      const done = { sizeBytes: bytes.length, sha256: `sha256:${hash.toString('hex')}`, rowCount: 4 };
      return json(response, seen.method === 'POST' ? 202 : 200, { ...metadata, ...done, ...served.metadata });
    }
    if (served.metadata['status'] === 'processing') return problem(response, 'EXPORT_NOT_READY', 409);
    const etag = `"${hash.toString('hex')}"`;
    const range = /^bytes=([0-9]+)-$/.exec(seen.headers.range ?? '');
    served.ranges.push(seen.headers.range ?? null);
    const from = range !== null && seen.headers['if-range'] === etag ? Number(range[1]) : 0;
    const headers = {
      etag,
      'content-type': 'application/json',
      'accept-ranges': 'bytes',
      'repr-digest': `sha-256=:${hash.toString('base64')}:`,
    };
    if (from >= bytes.length) {
      response.writeHead(416, { ...headers, 'content-range': `bytes */${bytes.length}` });
      return response.end();
    }
    response.writeHead(from > 0 ? 206 : 200, {
      ...headers,
      'content-length': bytes.length - from,
      ...(from > 0 ? { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
      ...served.headers,
    });
    return response.end(bytes.subarray(from));
  });
  const own = { artifact, metadata: {}, headers: {}, ranges: [] };
  const served: ExportServer = Object.assign(server, own);
  return served;
}

const metadata = {
  exportId,
  resource: 'audit_events',
  format: 'json',
  status: 'completed',
  createdAt: '2026-01-05T09:00:00.000Z',
  filters: {},
  includeProof: true,
  startedAt: '2026-01-05T09:00:00.000Z',
  completedAt: '2026-01-05T09:00:01.000Z',
  expiresAt: '2036-01-05T09:00:00.000Z',
  errorSummary: null,
  manifest: null,
};

export interface CuttingProxy {
  readonly baseUrl: string;
  /** How many connections were cut. */
  cuts: number;
  close(): Promise<void>;
}

/** Passes on; of each answer longer than `after` bytes it cuts the connection there, `times` times. */
export async function startCuttingProxy(
  port: number,
  { after, times, onCut }: { readonly after: number; readonly times: number; readonly onCut?: () => void },
): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const through = connect(port, '127.0.0.1');
    let passed = 0;
    for (const each of [socket, through]) {
      open.add(each);
      each.on('error', () => {});
      each.on('close', () => {
        open.delete(each);
        socket.destroy();
        through.destroy();
      });
    }
    socket.pipe(through);
    through.on('data', (chunk: Buffer) => {
      const left = after - passed;
      passed += chunk.length;
      if (passed <= after || proxy.cuts >= times) return void socket.write(chunk);
      through.pause();
      proxy.cuts += 1;
      onCut?.();
      socket.write(chunk.subarray(0, left), () => socket.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: CuttingProxy = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    cuts: 0,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return proxy;
}
