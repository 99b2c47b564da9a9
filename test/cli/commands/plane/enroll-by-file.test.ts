/** Enrolment by file on the command line: which flags go together, pipes in place of files, and what is printed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEnrolment } from '../../../../plane/service/enrolment.ts';
import { planeInit } from '../../../../plane/data/init.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { register } from '../../../plane/support/enrolled.ts';
import { Account } from '../../support/account.ts';
import { govHere } from '../../support/tool.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-enrolledbyfile-'));
const dataDir = join(folder, 'plane');
let service: TestService;
let ada: Tenant;
let operator: Account;
beforeAll(async () => {
  service = await startService();
  ada = await service.signUp('ada');
  await planeInit({ dataDir });
  operator = new Account();
  const login = ['auth', 'login', '--api-key-stdin', '--base-url', `${service.origin}/api/v1`, '-C', 'acme'];
  expect((await operator.gov(login, { input: ada.keys.production })).code).toBe(0);
}, 60_000);
afterAll(async () => {
  await service.end();
  for (const each of [folder, operator.folder]) rmSync(each, { recursive: true, force: true });
});

const enroll = (words: readonly string[], input = '') =>
  govHere(['plane', 'enroll', ...words, '--data', dataDir], {
    cwd: folder,
    now: Date.now(),
    input,
    env: { GOV_CONFIG_DIR: join(folder, 'config'), HOME: folder },
  });

describe('gov plane enroll by file', () => {
  it.each([
    [[], /expected the address of a service/],
    [['--request', 'r', '--answer', 'a'], /--request without --service and --answer/],
    [['--request', 'r', '--service', 'https://gov.test'], /--request without --service/],
    [['--answer', 'a', '--token', 'x'], /--answer without a token/],
    [['--request', 'r'], /expected an enrolment token/],
    [['--answer', 'none.json'], /none\.json/],
  ])('gov plane enroll by file refuses %j', async (words, text) => {
    expect(await enroll(words)).toMatchObject({ code: 2, stderr: expect.stringMatching(text) });
  });

  it('gov plane enroll by file works through pipes and prints no secret', async () => {
    const { token, dataPlaneId } = await register(ada);
    const wrong = `gov_enr_${'a'.repeat(38)}`;
    const foreign = await enroll(['--request', '-', '--token', wrong]);
    const refused = await operator.gov(['planes', 'enroll', dataPlaneId, '-'], { input: foreign.stdout });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('over this token') });
    expect((await operator.gov(['planes', 'enroll', dataPlaneId, '-'], { input: '{' })).code).toBe(2);

    const request = await enroll(['--request', '-', '--token', token]);
    expect([request.code, request.stderr]).toEqual([0, '']);
    const answer = await operator.gov(['planes', 'enroll', dataPlaneId, '-'], { input: request.stdout });
    expect([answer.code, answer.stderr]).toEqual([0, '']);
    const taken = await enroll(['--answer', '-', '-o', 'json'], answer.stdout);
    expect([taken.code, JSON.parse(taken.stdout)]).toMatchObject([0, { dataPlaneId, mode: 'manual-file' }]);
    const { current } = readEnrolment(dataDir)!;
    const said = [request, answer, taken].map(({ stdout, stderr }) => `${stdout}${stderr}`).join('');
    for (const secret of [token, current.key, current.signingSecret]) expect(said).not.toContain(secret);
    expect((await enroll(['--answer', '-'], answer.stdout)).code).toBe(6);
    // answered once; the plane waits for nothing any more
    expect((await enroll(['--answer', '-', '--force'], answer.stdout)).code).toBe(5);
  });

  it('gov plane enroll by file names the next step at each step', async () => {
    // a log is of one data plane for ever
    const { dataPlaneId } = readEnrolment(dataDir)!;
    const { body } = await ada.call('POST', `/telemetry/planes/${dataPlaneId}/token`);
    const token = body.enrolmentToken;
    writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
    const request = await enroll(['--request', 'r.json', '--token-file', 'token', '--force']);
    expect(request.stderr).toContain('gov planes enroll ID r.json -O answer.json');
    writeFileSync(join(operator.folder, 'r.json'), readFileSync(join(folder, 'r.json')));
    const { key } = readEnrolment(dataDir)!.current;
    const known = async () => (await ada.call('GET', `/telemetry/planes/${dataPlaneId}`)).body.keyLast4;
    const nowhere = await operator.gov(['planes', 'enroll', dataPlaneId, 'r.json', '-O', 'none/a.json']);
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('the folder does not exist')]);
    expect(await known()).toBe(key.slice(-4));
    const answer = await operator.gov(['planes', 'enroll', dataPlaneId, 'r.json', '-O', 'a.json']);
    expect([answer.code, answer.stderr]).toEqual([
      0,
      expect.stringContaining('gov plane enroll --answer a.json'),
    ]);
  });
});
