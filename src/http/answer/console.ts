/**
 * Serves the console, a web page of static files, at `/console/` (contract P13). The page is public and holds no data:
 * everything that it shows it gets from the API with its session. Only its own scripts run in it, nothing may frame it,
 * and it makes no HTML from text (Trusted Types). Proven by `test/http/answer/console.test.ts`.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip as gzipWithCallback } from 'node:zlib';
import { callbackFile } from '../../contract/auth-words.ts';
import { GovError } from '../../contract/problems.ts';
import { hasTag } from '../../service/call/entity-tag.ts';
import type { RawAnswer } from './write.ts';

const brotli = promisify(brotliCompress);
const gzip = promisify<Buffer, object, Buffer>(gzipWithCallback);

/** `/console` leads to `/console/`: relative addresses in the page need the slash. */
export const consolePaths = ['/console', '/console/', '/console/:file'] as const;

/** Where the build writes the page. */
const folder = new URL('../../../dist/console/', import.meta.url);

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Best first. Each file is compressed once, when the first request comes. */
const codings = [
  ['br', (body: Buffer) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })],
  ['gzip', (body: Buffer) => gzip(body, { level: 9 })],
] as const;

/** What the page may do. It calls this server alone: the server asks the identity provider. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const commonHeaders = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'camera=(), geolocation=(), microphone=(), payment=(), usb=(), ' +
    'publickey-credentials-create=(self), publickey-credentials-get=(self)',
  'referrer-policy': 'same-origin',
} as const;

interface StaticFile {
  readonly type: string;
  /** By content coding; `identity` for none. */
  readonly bodies: ReadonlyMap<string, Buffer>;
  /** Hex digits of the content's hash. */
  readonly hash: string;
}

let files: Promise<ReadonlyMap<string, StaticFile>> | undefined;

interface FileRequest {
  /** Undefined: the page itself. An attacker controls it. */
  readonly file: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** A file of the page. NOT_FOUND for an unknown name, and where the console was not built. */
export async function renderConsole({ file = 'index.html', headers }: FileRequest): Promise<RawAnswer> {
  const all = await (files ??= readFiles().catch((error: unknown) => {
    files = undefined; // so that the next request tries again
    throw error;
  }));
  if (all.size === 0) throw new GovError('NOT_FOUND', 'the console is not built: run npm run build');
  // the identity provider returns to an address of its own, which operators can register (contract B19)
  const isPage = file === 'index.html' || file === callbackFile;
  const found = all.get(isPage ? 'index.html' : file);
  if (found === undefined) throw new GovError('NOT_FOUND', `the console has no file of this name`);
  const [coding, body] = bodyFor(found, headers['accept-encoding']);
  // a strong validator names exact bytes, so each coding has its own
  const etag = `"${found.hash}${coding === 'identity' ? '' : `-${coding}`}"`;
  const common = {
    ...commonHeaders,
    'cache-control': isPage ? 'no-cache' : 'public, max-age=31536000, immutable',
    etag,
    vary: 'Accept-Encoding',
    ...(isPage ? { 'content-security-policy': policy } : {}),
  };
  const known = headers['if-none-match'];
  if (known !== undefined && hasTag(known, etag, 'weak')) return { status: 304, body: '', headers: common };
  const encoding = coding === 'identity' ? {} : { 'content-encoding': coding };
  return { status: 200, body, headers: { 'content-type': found.type, ...common, ...encoding } };
}

/** The address is relative, so it also holds below the base path of a proxy. */
export const toConsole: RawAnswer = { status: 308, body: '', headers: { location: 'console/' } };

function bodyFor({ bodies }: StaticFile, accepted: string | string[] | undefined): readonly [string, Buffer] {
  const ranges = String(accepted ?? '')
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim().toLowerCase()));
  for (const [coding] of codings) {
    const body = bodies.get(coding);
    const range = ranges.find(([name]) => name === coding);
    const isAccepted = range !== undefined && !range.some((part) => /^q=0(?:\.0*)?$/.test(part));
    if (body !== undefined && isAccepted) return [coding, body];
  }
  return ['identity', bodies.get('identity') ?? Buffer.alloc(0)];
}

/** Empty where the console was not built. */
async function readFiles(): Promise<ReadonlyMap<string, StaticFile>> {
  const names: readonly string[] = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const all = new Map<string, StaticFile>();
  for (const name of names) {
    const type = types[/\.(\w+)$/.exec(name)?.[1] ?? ''];
    if (type === undefined) continue;
    const body = await readFile(new URL(name, folder));
    const bodies = new Map<string, Buffer>([['identity', body]]);
    for (const [coding, compress] of codings) bodies.set(coding, await compress(body));
    all.set(name, { type, bodies, hash: createHash('sha256').update(body).digest('hex').slice(0, 16) });
  }
  return all;
}
