/** A listener over TLS as its operator runs it: the tool in a process of its own, certificates of openssl. */
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { readPlaneConfig } from '../../../src/host/data/config.ts';
import { doctor } from '../../../src/host/service/doctor.ts';
import { openTls, readCertificate } from '../../../src/host/process/tls.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { makeAuthority, type Issued } from '../../support/certificates.ts';
import { gov, govHere, serving, type Serving } from '../../cli/support/tool.ts';
import { startService } from '../../support/hosted.ts';

const root = mkdtempSync(join(tmpdir(), 'gov-tls-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const authority = makeAuthority(root);
const [first, second, client, expired] = [
  authority.issue('first'),
  authority.issue('second'),
  authority.issue('client'),
  authority.issue('expired', -1),
];
const foreign = makeAuthority(root, 'foreign').issue('stranger');

let folder: string;
let dataDir: string;
let served: Issued;
let plane: Serving | undefined;
beforeEach(async () => {
  folder = mkdtempSync(join(root, 'plane-'));
  dataDir = join(folder, 'plane');
  served = { ...first, certFile: join(folder, 'served.pem'), keyFile: join(folder, 'served.key') };
  use(first);
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
});
afterEach(async () => {
  await plane?.stop();
  plane = undefined;
});

/** Puts a certificate where the plane reads it. */
function use({ certFile, keyFile }: Issued): void {
  copyFileSync(certFile, served.certFile);
  copyFileSync(keyFile, served.keyFile);
  chmodSync(served.keyFile, 0o600);
}

const serve = async (...more: string[]): Promise<Serving> =>
  (plane = await serving(
    [
      'plane',
      'serve',
      '--data',
      dataDir,
      '--tls-cert',
      served.certFile,
      '--tls-key',
      served.keyFile,
      ...more,
    ],
    { env: { GOV_CONFIG_DIR: join(folder, 'config') }, cwd: folder },
  ));

interface Said {
  readonly status: number;
  readonly body: { readonly status?: string; readonly reasons?: readonly string[] };
  readonly subject: string;
}

/** Asks for health with the operator's key. */
async function ask(path = '/health', own?: Issued, agent?: Agent): Promise<Said> {
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const { baseUrl } = plane ?? { baseUrl: '' };
  const outgoing = request(baseUrl + path, {
    ca: authority.cert,
    headers: { 'x-api-key': key },
    ...(own === undefined ? {} : { cert: own.cert, key: own.key }),
    ...(agent === undefined ? { agent: false } : { agent }),
  });
  outgoing.end();
  const [answer] = await once(outgoing, 'response');
  const { subject } = (answer.socket as TLSSocket).getPeerCertificate();
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  return {
    status: answer.statusCode,
    body: JSON.parse(Buffer.concat(chunks).toString()),
    subject: String(subject.CN),
  };
}

/** Waits until the log has a line with this message. */
const said = (text: string): Promise<void> =>
  new Promise((resolve) => {
    plane?.child.stderr?.on('data', (chunk: Buffer) => chunk.includes(text) && resolve());
  });

describe('a plane over TLS', () => {
  it('a plane over TLS accepts TLS 1.2 and newer, and gives local commands an https address', async () => {
    const { baseUrl } = await serve();
    expect(baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:/);
    expect(await ask()).toMatchObject({ status: 200, subject: 'first', body: { status: 'ok' } });
    const { port } = new URL(baseUrl);
    const old = connect({
      port: Number(port),
      host: '127.0.0.1',
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    expect(await once(old, 'error').then(([error]) => String(error.code))).toMatch(
      /SSL|PROTOCOL|EPROTO|ECONN/,
    );
    const env = { GOV_CONFIG_DIR: join(folder, 'config') };
    const words = ['plane', 'status', '--data', dataDir, '-o', 'json'];
    expect(await gov([...words, '--cacert', authority.certFile], { env })).toMatchObject({ code: 0 });
    expect(await gov(words, { env })).toMatchObject({
      code: 10,
      stdout: expect.stringContaining('authority'),
    });
  });

  it('a plane reloads its certificate on SIGHUP without cutting connections, unless the new one is bad', async () => {
    const { child } = await serve();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask('/health', undefined, agent)).subject).toBe('first');
    use(second);
    const read = said('certificate reloaded');
    child.kill('SIGHUP');
    await read;
    // the open connection goes on with what it began with
    expect((await ask('/health', undefined, agent)).subject).toBe('first');
    expect((await ask()).subject).toBe('second');
    for (const [bad, why] of [
      [expired, /tls_reload_failed: tls_certificate_expired: since /],
      [
        { ...second, keyFile: first.keyFile },
        /tls_reload_failed: expected the key of .*served\.pem in .*served\.key/,
      ],
      [{ ...second, certFile: join(dataDir, 'plane.json') }, /tls_reload_failed: expected a certificate in/],
    ] as const) {
      use(bad);
      const kept = said('could not reload the certificate');
      child.kill('SIGHUP');
      await kept;
      const now = await ask();
      expect([now.status, now.subject, now.body.status]).toEqual([200, 'second', 'degraded']);
      expect(now.body.reasons?.[0]).toMatch(why);
      // it records all the same
      expect((await ask('/health/ready')).status).toBe(200);
    }
    use(first);
    const again = said('certificate reloaded');
    child.kill('SIGHUP');
    await again;
    expect(await ask()).toMatchObject({ subject: 'first', body: { status: 'ok' } });
    agent.destroy();
  });

  it('a plane with a client authority answers only clients that have a certificate of it', async () => {
    await serve('--tls-client-ca', authority.certFile);
    expect((await ask('/health', client)).status).toBe(200);
    await expect(ask()).rejects.toThrow(/certificate required|hang up|ECONNRESET|EPIPE/i);
    const words = ['plane', 'status', '--data', dataDir, '--cacert', authority.certFile, '-o', 'json'];
    const env = { GOV_CLIENT_CERT: client.certFile, GOV_CLIENT_KEY: client.keyFile };
    expect(await govHere(words, { env })).toMatchObject({ code: 0 });
    expect(await govHere(words)).toMatchObject({ code: 10 });
    expect(await govHere(words, { env: { GOV_CLIENT_CERT: client.certFile } })).toMatchObject({ code: 2 });
    await expect(ask('/health', foreign)).rejects.toThrow(/alert|hang up|ECONNRESET|EPIPE/i);
  });

  it('a plane does not start with a key that others may read or that fits another certificate', async () => {
    const words = ['plane', 'serve', '--data', dataDir, '--tls-cert', served.certFile];
    const env = { GOV_CONFIG_DIR: join(folder, 'config') };
    expect(await gov(words, { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--tls-cert: expected a certificate and its key together'),
    });
    chmodSync(served.keyFile, 0o644);
    expect(await gov([...words, '--tls-key', served.keyFile], { env })).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/readable by its owner only, got mode 644; run chmod 600/),
    });
    expect(await gov([...words, '--tls-key', second.keyFile], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected the key of'),
    });
  });

  it('a plane with an expired certificate serves at start, because recording must not stop, and reports it', async () => {
    use(expired);
    await serve();
    const open = new Agent({ rejectUnauthorized: false });
    const { body } = await ask('/health', undefined, open);
    open.destroy();
    expect(body.status).toBe('degraded');
    expect(body.reasons?.[0]).toMatch(/^tls_certificate_expired: since /);
  });

  it('a plane with a bad certificate is shown as degraded to its operator, with the reason', async () => {
    const { child } = await serve();
    use(expired);
    const kept = said('could not reload the certificate');
    child.kill('SIGHUP');
    await kept;
    const words = ['plane', 'status', '--data', dataDir, '--cacert', authority.certFile, '--color', 'never'];
    const { code, stdout } = await govHere(words, { columns: 120 });
    expect([code, stdout.split('\n').slice(0, 2)]).toEqual([
      3,
      ['degraded', expect.stringMatching(/^ {2}! tls_reload_failed: tls_certificate_expired/)],
    ]);
  });
});

describe('the certificate of a listener', () => {
  it('the certificate comes from plane.json, relative to the directory, and the environment overrides it', () => {
    const path = join(dataDir, 'plane.json');
    const file = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...file, tlsCert: '../served.pem', tlsKey: '../served.key' }));
    expect(readPlaneConfig(dataDir, {}, {}).tls).toMatchObject({
      cert: served.certFile,
      key: served.keyFile,
      clientCa: null,
    });
    const env = { GOV_TLS_CERT: '/run/c.pem', GOV_TLS_KEY: '/run/k.pem', GOV_TLS_CLIENT_CA: '/run/ca.pem' };
    expect(readPlaneConfig(dataDir, {}, env).tls).toMatchObject({
      cert: '/run/c.pem',
      clientCa: '/run/ca.pem',
    });
    expect(readPlaneConfig(dataDir, { tlsCert: '/flag.pem' }, env).tls?.cert).toBe('/flag.pem');
  });

  it('the certificate files and plane.json may have been edited on Windows', () => {
    const windows = (path: string): void => {
      const mode = statSync(path).mode;
      writeFileSync(path, `\ufeff${readFileSync(path, 'utf8').replaceAll('\n', '\r\n')}`, { mode });
    };
    const path = join(dataDir, 'plane.json');
    const before = readPlaneConfig(dataDir, {}, {});
    for (const each of [path, served.certFile, served.keyFile]) windows(each);
    expect(readPlaneConfig(dataDir, {}, {})).toEqual(before);
    expect(readCertificate({ cert: served.certFile, key: served.keyFile, clientCa: null }).subject).toBe(
      readCertificate({ cert: first.certFile, key: first.keyFile, clientCa: null }).subject,
    );
  });

  it('the certificate key may be readable by its group when systemd guards it', () => {
    chmodSync(served.keyFile, 0o440);
    const files = { cert: served.certFile, key: served.keyFile, clientCa: null };
    expect(() => readCertificate(files)).toThrow(/readable by its owner only/);
    expect(() => readCertificate({ ...files, credentials: folder })).not.toThrow();
    expect(() => readCertificate({ ...files, credentials: join(folder, 'other') })).toThrow(/owner only/);
  });

  it('a certificate causes a warning from seven days before its end', () => {
    const files = { cert: served.certFile, key: served.keyFile, clientCa: null };
    const { validToMs } = readCertificate(files);
    const reasonsAt = (nowMs: number) => openTls(files, { log: silentLog, now: () => nowMs }).reasons();
    const week = 7 * 24 * 3600 * 1000;
    expect(reasonsAt(validToMs - week - 1)).toEqual([]);
    expect(reasonsAt(validToMs - week)[0]).toMatch(/^tls_certificate_expires: at /);
    expect(reasonsAt(validToMs - 1)[0]).toMatch(/^tls_certificate_expires: at /);
    expect(reasonsAt(validToMs)[0]).toMatch(/^tls_certificate_expired: since /);
    expect(reasonsAt(0)[0]).toMatch(/^tls_certificate_not_yet_valid: until /);
  });
});

it('a service serves over TLS as well', async () => {
  const service = await startService({ file: { tlsCert: first.certFile, tlsKey: first.keyFile } });
  try {
    expect(service.baseUrl).toMatch(/^https:/);
    const outgoing = request(`${service.baseUrl}/health/live`, { ca: authority.cert, agent: false });
    outgoing.end();
    const [answer] = await once(outgoing, 'response');
    answer.resume();
    expect(answer.statusCode).toBe(200);
    const { host } = new URL(service.baseUrl);
    const { checks } = await doctor({ dataDir: service.dataDir, env: {}, listen: host });
    expect(checks.find(({ name }) => name === 'address')?.detail).toBe(`gov serves at ${host}`);
  } finally {
    await service.end();
  }
});
