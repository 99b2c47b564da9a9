/** What a plane keeps while its enrolment goes by file: the same request until an answer came, and no other answer. */
import { generateKeyPairSync } from 'node:crypto';
import fs, { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { exportUsage, takeReceipts } from '../../../plane/telemetry/by-file.ts';
import { askByFile, takeEnrolmentAnswer, type AnswerOptions } from '../../../plane/enrolment/by-file.ts';
import { readEnrolment, writeTelemetrySettings } from '../../../plane/service/enrolment.ts';
import { rotateCredentials } from '../../../plane/enrolment/exchange.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { EnrolmentAnswer, Message } from '../../../src/contract/telemetry.ts';
import type { Tenant, TestService } from '../../support/hosted.ts';
import { eachWithPlane } from '../support/each.ts';
import { register, setClock, type TestTelemetryPlane } from '../support/enrolled.ts';

let service: TestService;
let ada: Tenant;
let plane: TestTelemetryPlane;
let dataPlaneId: string;
let token: string;
eachWithPlane((world) => ({ service, ada, plane } = world), { isBare: true });
beforeEach(async () => {
  ({ dataPlaneId, token } = await register(ada));
});

const asked = (more: { force?: boolean; token?: string } = {}) =>
  askByFile({ dataDir: plane.dataDir, token, ...more });
const answered = async (request = asked(), of = dataPlaneId): Promise<EnrolmentAnswer> => {
  const { status, body, text } = await ada.call('POST', `/telemetry/planes/${of}/enroll`, { body: request });
  expect([status, text]).toEqual([201, expect.any(String)]);
  return body;
};
const take = (answer: unknown, more: Partial<AnswerOptions> = {}) =>
  takeEnrolmentAnswer({
    dataDir: plane.dataDir,
    answer: Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)),
    service: null,
    now: Date.now,
    ...more,
  });
const waiting = () => join(plane.dataDir, 'keys/enrolment-request.json');

describe('an enrolment by file', () => {
  it('an enrolment request by file is the same until it is answered, and its key is deleted afterwards', async () => {
    const request = asked();
    expect(asked()).toEqual(request);
    expect(statSync(waiting()).mode & 0o777).toBe(0o600);
    expect(readFileSync(waiting(), 'utf8')).not.toContain(token);
    const { enrolment, mode } = await take(await answered(request));
    expect(enrolment).toMatchObject({ dataPlaneId, service: null, environment: 'production' });
    expect([mode, readEnrolment(plane.dataDir)]).toEqual(['manual-file', enrolment]);
    expect(existsSync(waiting())).toBe(false);
    expect(() => asked()).toThrow(/expected a plane that is not enrolled.*--force/);
    expect(asked({ force: true }).sealTo).not.toBe(request.sealTo);
  });

  it.each(['keys/telemetry.ed25519.pem', 'keys/enrolment-request.json'])(
    'an enrolment by file that stopped at %s can be taken in again',
    async (name) => {
      const answer = await answered();
      const path = join(plane.dataDir, name);
      const kept = existsSync(path) ? readFileSync(path, 'utf8') : 'of a key that was retired';
      const { rmSync: remove } = fs;
      const broken = vi.spyOn(fs, 'rmSync').mockImplementation((of, ...rest) => {
        if (of === path) throw new Error('killed');
        remove(of, ...rest);
      });
      writeFileSync(path, kept, { mode: 0o600 });
      syncBuiltinESMExports();
      try {
        await expect(take(answer)).rejects.toThrow('killed');
      } finally {
        broken.mockRestore();
        syncBuiltinESMExports();
      }
      const { enrolment } = await take(answer, { force: true });
      expect(readEnrolment(plane.dataDir)).toEqual(enrolment);
      expect(existsSync(waiting())).toBe(false);
      expect(existsSync(join(plane.dataDir, 'keys/telemetry.ed25519.pem'))).toBe(false);
    },
  );

  it('an enrolment by file accepts only the whole answer to its own request', async () => {
    await expect(take('{}')).rejects.toThrow(/got one without a request; begin with --request/);
    const answer = await answered();
    const other = await register(ada);
    const before = readFileSync(waiting(), 'utf8');
    for (const [wrong, text] of [
      ['{', /expected a member name/],
      ['{}', /expected the answer to an enrolment request/],
      [{ ...answer, more: 1 }, /got another text at \/more/],
      [{ ...answer, dataPlaneId: other.dataPlaneId }, /got another text than was sealed/],
      [{ ...answer, cosignerKey: 'mine+00000000+AA' }, /got another text than was sealed/],
      [' '.repeat(limits.telemetryAnswerBytes + 1), /at most 1048576 bytes/],
      [' '.repeat(limits.telemetryAnswerBytes), /expected a JSON value/],
      [{ ...answer, newest: { ...answer.newest, nextSequence: 7 } }, /got another text than was sealed/],
    ] as const)
      await expect(take(wrong)).rejects.toThrow(text);
    // a token of another plane: the answer before it is to another request
    asked({ token: other.token });
    await expect(take(answer)).rejects.toThrow(/got one to another request/);
    expect(existsSync(join(plane.dataDir, 'keys/telemetry.json'))).toBe(false);
    writeFileSync(waiting(), before);
    expect((await take(answer)).enrolment.dataPlaneId).toBe(dataPlaneId);
  });

  it('a damaged or readable enrolment request reports what to do and shows no secret', async () => {
    const answer = await answered();
    const { secret } = JSON.parse(readFileSync(waiting(), 'utf8'));
    writeFileSync(waiting(), `{"secret":"${secret}"}`);
    const damaged = await take(answer).catch(String);
    expect(damaged).toMatch(/damaged file; delete it, and begin with --request/);
    expect(damaged).not.toContain(secret);
    chmodSync(waiting(), 0o644);
    await expect(take(answer)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('a plane enrolled by file needs the address of the service for mode auto, and says so', async () => {
    const answer = await answered();
    await expect(take(answer, { mode: 'auto' })).rejects.toThrow(/address of the service for mode auto/);
    await take(answer);
    writeTelemetrySettings(plane.dataDir, { mode: 'auto' });
    await plane.telemetry.look();
    expect(plane.telemetry.reasons()[0]).toMatch(/^telemetry_settings: .*this plane was enrolled by file/);
    const rotating = rotateCredentials({ dataDir: plane.dataDir, env: {}, now: Date.now });
    await expect(rotating).rejects.toMatchObject({ code: 'CONFLICT' });
    writeTelemetrySettings(plane.dataDir, { mode: 'manual-file' });
    await plane.telemetry.look();
    expect([plane.telemetry.reasons(), plane.reports().length]).toEqual([[], 1]);
  });

  it('a plane enrolled by file with an address reports over the network', async () => {
    const { enrolment } = await take(await answered(), { mode: 'auto', service: service.origin });
    expect(enrolment.service).toBe(`${service.origin}/api/v1`);
    await plane.record(2);
    await plane.sign();
    await plane.telemetry.look();
    expect(plane.telemetry.reasons()).toEqual([]);
    const { body } = await ada.call('GET', `/telemetry/planes/${dataPlaneId}`);
    expect(body.lastReport).toMatchObject({ sequence: 1 });
  });

  it('a plane deletes its enrolment request once it is enrolled over the network', async () => {
    asked();
    await plane.enrol({ service: service.origin, token });
    expect(existsSync(waiting())).toBe(false);
  });

  it('an enrolment by file keeps the mode off', async () => {
    writeTelemetrySettings(plane.dataDir, { mode: 'off' });
    expect((await take(await answered())).mode).toBe('off');
  });

  it('an enrolment by file is requested again when the log keys were rotated in between', async () => {
    const answer = await answered();
    const keys = join(plane.dataDir, 'keys/log.ed25519.pem');
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(keys, privateKey.export({ format: 'pem', type: 'pkcs8' }));
    await expect(take(answer)).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe('a plane by file that lost what it reported', () => {
  const imported = async (): Promise<number[]> => {
    const messages: Message[] = [];
    for await (const message of exportUsage(plane.dataDir)) messages.push(message);
    const { body } = await ada.call('POST', '/telemetry/import', { body: { messages } });
    const lines = body.receipts.map((each: unknown) => JSON.stringify(each));
    expect(await takeReceipts(plane.dataDir, lines)).toMatchObject({ refused: 0 });
    return plane.reports().map(({ sequence }) => sequence);
  };
  const worked = async (): Promise<void> => {
    setClock(Date.now() + 3_600_000);
    await plane.record(2);
    await plane.sign();
  };

  it('a plane without its reports learns from its next enrolment what the service has, and continues', async () => {
    await take(await answered());
    for (let round = 0; round < 2; round++) {
      await worked();
      await imported();
    }
    await plane.telemetry.stop();
    for (const end of ['', '-wal', '-shm'])
      rmSync(join(plane.dataDir, `telemetry.db${end}`), { force: true });
    await plane.restart();
    await worked();
    const { body } = await ada.call('POST', `/telemetry/planes/${dataPlaneId}/token`);
    token = body.enrolmentToken;
    const { held } = await take(await answered(asked({ force: true })), { force: true });
    expect(held).toBeNull();
    expect(await imported()).toEqual([2, 3]);
    const shown = (await ada.call('GET', `/telemetry/planes/${dataPlaneId}`)).body;
    expect(shown).toMatchObject({ missing: 0, lastReport: { sequence: 3 } });
    const totals = await plane.store.totals(plane.project.projectId);
    expect(plane.reports().at(-1)?.totals).toEqual(totals);
  });
});
