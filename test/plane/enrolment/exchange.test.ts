/** How a plane gets its credentials and changes them: what is kept, what is lost, and by which way it is reached. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { baseUrlOf, rotateCredentials } from '../../../plane/enrolment/exchange.ts';
import { readEnrolment, writeEnrolment } from '../../../plane/service/enrolment.ts';
import { telemetryStatus } from '../../../plane/telemetry/status.ts';
import { limits } from '../../../src/contract/limits.ts';
import { makeAuthority } from '../../support/certificates.ts';
import type { Tenant, TestService } from '../../support/hosted.ts';
import { eachWithPlane } from '../support/each.ts';
import { answer, register, setClock, type TestTelemetryPlane, type Wire } from '../support/enrolled.ts';

const hourMs = 3_600_000;
let service: TestService;
let wire: Wire;
let ada: Tenant;
let plane: TestTelemetryPlane;
eachWithPlane((world) => ({ service, ada, wire, plane } = world), { isBare: true });

const file = () => join(plane.dataDir, 'keys/telemetry.json');
const rotate = (overlapSeconds?: number) =>
  rotateCredentials({ dataDir: plane.dataDir, env: {}, now: Date.now, overlapSeconds });
const reported = async (): Promise<string | undefined> => {
  setClock(Date.now() + hourMs);
  await plane.telemetry.look();
  return telemetryStatus(plane.dataDir).reasons[0];
};

describe('an enrolment', () => {
  it('an enrolment is stored whole, for its owner alone, and contains no private key', async () => {
    const { token, dataPlaneId } = await register(ada);
    const { enrolment, mode, clockAheadSeconds } = await plane.enrol({ service: wire.origin, token });
    expect([mode, clockAheadSeconds]).toEqual(['auto', 0]);
    expect(enrolment).toMatchObject({
      service: `${wire.origin}/api/v1`,
      dataPlaneId,
      environment: 'production',
    });
    expect(readEnrolment(plane.dataDir)).toEqual(enrolment);
    for (const path of [file(), join(plane.dataDir, 'telemetry.json')])
      expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(plane.dataDir, 'keys')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(readFileSync(file(), 'utf8')).not.toContain(token);
  });

  it('an enrolment is not replaced unless the caller forces it', async () => {
    const { token } = await register(ada);
    const first = await plane.enrol({ service: wire.origin, token });
    const before = readFileSync(file(), 'utf8');
    await expect(plane.enrol({ service: wire.origin, token })).rejects.toThrow(
      /expected a plane that is not enrolled.*--force/,
    );
    expect(readFileSync(file(), 'utf8')).toBe(before);
    const again = await plane.enrol({ service: wire.origin, token, force: true });
    expect(again.enrolment.dataPlaneId).toBe(first.enrolment.dataPlaneId);
    expect(again.enrolment.current).not.toEqual(first.enrolment.current);
    expect(await reported()).toBeUndefined();
  });

  it('an enrolment whose answer was lost is requested again with the same token', async () => {
    const { token } = await register(ada);
    wire.weather = 'lose';
    await expect(plane.enrol({ service: wire.origin, token })).rejects.toMatchObject({
      name: 'GovNetworkError',
    });
    expect(existsSync(file())).toBe(false);
    wire.weather = 'clear';
    await plane.enrol({ service: wire.origin, token });
    expect(await reported()).toBeUndefined();
  });

  it.each([
    ['a token that nobody gave', async () => `gov_enr_${'a'.repeat(38)}`, 'INVALID_CREDENTIAL'],
    [
      'a token that has ended',
      async () => {
        const { token } = await register(ada);
        setClock(Date.now() + (limits.enrolmentHours + 1) * hourMs);
        return token;
      },
      'INVALID_CREDENTIAL',
    ],
  ])('a service refuses an enrolment for %s', async (_, tokenOf, code) => {
    const token = await tokenOf();
    await expect(plane.enrol({ service: wire.origin, token })).rejects.toMatchObject({ code });
    expect([existsSync(file()), existsSync(join(plane.dataDir, 'telemetry.json'))]).toEqual([false, false]);
  });

  it('a plane of a sandbox project enrols at the address of the service', async () => {
    const { status, body } = await ada.call('POST', '/telemetry/planes', {
      environment: 'sandbox',
      body: { name: 's' },
    });
    expect(status).toBe(201);
    const { enrolment } = await plane.enrol({ service: wire.origin, token: body.enrolmentToken });
    expect(enrolment).toMatchObject({ service: `${wire.origin}/sandbox/api/v1`, environment: 'sandbox' });
    expect(await reported()).toBeUndefined();
    expect(plane.reports()[0]?.environment).toBe('sandbox');
  });

  it.each([
    ['a page', answer(200, {}, '<html>'), /got HTTP status 200; is the address right/],
    [
      'a redirect',
      answer(301, { location: 'https://elsewhere.test/' }),
      /status 301 that leads to https:\/\/elsewhere/,
    ],
    ['an answer that is none', answer(201, {}, '{"dataPlaneId":"dpl_x"}'), /got another at \//],
  ])('a plane takes no enrolment from %s', async (_, weather, text) => {
    wire.weather = weather;
    await expect(plane.enrol({ service: wire.origin, token: `gov_enr_${'a'.repeat(38)}` })).rejects.toThrow(
      text,
    );
    expect(existsSync(file())).toBe(false);
  });

  it('the base URL of an enrolment follows from the address and the environment', () => {
    expect(baseUrlOf('https://gov.test', 'production')).toBe('https://gov.test/api/v1');
    expect(baseUrlOf('https://gov.test/eu/sandbox/api/v1/', 'production')).toBe('https://gov.test/eu/api/v1');
    expect(baseUrlOf('https://gov.test:8443/eu/', 'sandbox')).toBe('https://gov.test:8443/eu/sandbox/api/v1');
    for (const wrong of [
      'gov.test',
      'ftp://gov.test',
      'https://user:secret@gov.test',
      'https://gov.test/?a=1',
    ])
      expect(() => baseUrlOf(wrong, 'production')).toThrow(/expected the address of a service/);
  });

  it('a damaged enrolment does not stop a running plane, and messages show none of its secrets', async () => {
    const { token } = await register(ada);
    await plane.enrol({ service: wire.origin, token });
    expect(await reported()).toBeUndefined();
    const text = readFileSync(file(), 'utf8');
    const { signingSecret } = readEnrolment(plane.dataDir)!.current;
    writeFileSync(file(), text.replace('whsec_', 'whsek_'));
    setClock(Date.now() + hourMs);
    await plane.telemetry.look();
    const [reason] = plane.telemetry.reasons();
    expect(reason).toMatch(/^telemetry_settings: .*keys\/telemetry\.json.*enrol again/);
    expect(reason).not.toContain(signingSecret.slice(8));
    expect(plane.read((outbox) => outbox.newest(readReport().dataPlaneId))?.state).toBe('accepted');
    expect(plane.reports().length).toBe(2);
    writeFileSync(file(), `${text}\n`);
    await plane.telemetry.look();
    expect(plane.telemetry.reasons()).toEqual([]);
  });

  it('an enrolment that others may read is refused', async () => {
    const { token } = await register(ada);
    await plane.enrol({ service: wire.origin, token });
    rmSync(file());
    writeFileSync(file(), '{}', { mode: 0o644 });
    expect(() => readEnrolment(plane.dataDir)).toThrow(/readable by its owner only/);
  });
});

const readReport = () => plane.reports().at(-1)!;

describe('credentials that rotate', () => {
  beforeEach(async () => {
    const { token } = await register(ada);
    await plane.enrol({ service: wire.origin, token });
  });

  it('rotated credentials work at once in a running plane, and the old ones work for the overlap', async () => {
    const before = readEnrolment(plane.dataDir)!;
    expect(await reported()).toBeUndefined();
    const after = await rotate(3 * 3600);
    expect(after.current).not.toEqual(before.current);
    expect(after.previous).toEqual({
      ...before.current,
      validUntil: new Date(Date.now() + 3 * hourMs).toISOString(),
    });
    expect(await reported()).toBeUndefined();
    // a plane that was restored with the old file
    writeEnrolment(plane.dataDir, before);
    expect(await reported()).toBeUndefined();
    setClock(Date.now() + hourMs);
    expect(await reported()).toMatch(/credential_refused: INVALID_CREDENTIAL/);
    writeEnrolment(plane.dataDir, after);
    setClock(Date.now() + hourMs);
    expect(await reported()).toBeUndefined();
  });

  it('a plane tries new credentials, then old ones, so that lost new ones do not stop its reports', async () => {
    const before = readEnrolment(plane.dataDir)!;
    const unknown = { key: `gov_hyb_${'z'.repeat(38)}`, signingSecret: before.current.signingSecret };
    const validUntil = new Date(Date.now() + 24 * hourMs).toISOString();
    writeEnrolment(plane.dataDir, {
      ...before,
      current: unknown,
      previous: { ...before.current, validUntil },
    });
    expect(await reported()).toBeUndefined();
    // and rotate by the pair that works
    const after = await rotate();
    expect(after.previous).toMatchObject(before.current);
    expect(await reported()).toBeUndefined();
  });

  it('credentials stay unchanged when the answer to a rotation is lost, however often', async () => {
    for (let round = 0; round < 3; round++) {
      const before = readFileSync(file(), 'utf8');
      wire.weather = 'lose';
      await expect(rotate()).rejects.toMatchObject({ name: 'GovNetworkError' });
      expect(readFileSync(file(), 'utf8')).toBe(before);
      wire.weather = 'clear';
      expect(await reported()).toBeUndefined();
    }
    await rotate();
    expect(await reported()).toBeUndefined();
  });

  it('a rotation without an overlap ends the old credentials at once', async () => {
    const before = readEnrolment(plane.dataDir)!;
    await rotate(0);
    expect(await reported()).toBeUndefined();
    writeEnrolment(plane.dataDir, { ...before, previous: null });
    expect(await reported()).toMatch(/credential_refused: /);
  });
});

describe('a plane behind a proxy, with an authority of its own and mutual TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-telemetrytls-'));
  const authority = makeAuthority(folder);
  const [server, client] = [authority.issue('server'), authority.issue('client')];
  const sockets = new Set<Socket>();
  const asked: { target: string; authorization: string | undefined }[] = [];
  const clients: string[] = [];
  let secure: ReturnType<typeof createTls>;
  let proxy: Server;
  const portOf = (each: { address(): unknown }): number => (each.address() as AddressInfo).port;

  beforeAll(async () => {
    secure = createTls(
      { cert: server.cert, key: server.key, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
      (socket: TLSSocket) => {
        clients.push(String(socket.getPeerCertificate().subject.CN));
        keep(socket, connect(service.port, '127.0.0.1'));
      },
    );
    secure.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    proxy = createHttp().on('connect', (request, socket: Socket) => {
      asked.push({ target: String(request.url), authorization: request.headers['proxy-authorization'] });
      const through = connect(portOf(secure), '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      keep(socket, through);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all([secure, proxy].map((each) => new Promise((resolve) => each.close(resolve))));
    rmSync(folder, { recursive: true, force: true });
  });
  function keep(one: Socket, other: Socket): void {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  }
  const env = () => ({ HTTPS_PROXY: `http://bank:secret@127.0.0.1:${portOf(proxy)}` });
  const files = {
    caFile: authority.certFile,
    certificateFile: client.certFile,
    certificateKeyFile: client.keyFile,
  };
  const target = 'https://gov.test:8443';

  it('a plane enrols and reports through a proxy, with its own authority and mutual TLS', async () => {
    const { token } = await register(ada);
    const { enrolment } = await plane.enrol({ service: target, token, env: env(), ...files });
    expect(enrolment).toMatchObject({ service: `${target}/api/v1`, ...files });
    expect(asked.at(-1)).toEqual({
      target: 'gov.test:8443',
      authorization: `Basic ${Buffer.from('bank:secret').toString('base64')}`,
    });
    expect(clients.at(-1)).toBe('client');
    const before = clients.length;
    await plane.restartIn(env());
    expect(await reported()).toBeUndefined();
    expect(clients.slice(before)).toEqual(['client']); // one connection, kept alive
  });

  it.each([
    ['without the authority', { caFile: undefined }, {}, /no authority that this machine trusts/],
    [
      'without a certificate',
      { certificateFile: undefined, certificateKeyFile: undefined },
      {},
      /could not reach/,
    ],
    ['with NO_PROXY', {}, { NO_PROXY: '.test' }, /could not reach https:\/\/gov\.test:8443: the host name/],
    ['with half a certificate', { certificateKeyFile: undefined }, {}, /certificate and its key together/],
    [
      'with an authority that is not there',
      { caFile: '/nowhere.pem' },
      {},
      /expected a PEM file at \/nowhere\.pem/,
    ],
  ])('an enrolment through a proxy is refused %s', async (_, changed, more, text) => {
    const { token } = await register(ada);
    const enrolling = plane.enrol({
      service: target,
      token,
      ...files,
      ...changed,
      env: { ...env(), ...more },
    });
    await expect(enrolling).rejects.toThrow(text);
    expect(existsSync(file())).toBe(false);
  });
});
