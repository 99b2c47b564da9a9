/** Enrolment and usage on the command line, against a real service; what is printed is what is sent. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../../../plane/data/init.ts';
import { readEnrolment, writeEnrolment } from '../../../../plane/service/enrolment.ts';
import type { Message } from '../../../../src/contract/telemetry.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { register } from '../../../plane/support/enrolled.ts';
import { govHere } from '../../support/tool.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-planetelemetry-'));
const dataDir = join(folder, 'plane');
const env = { GOV_CONFIG_DIR: join(folder, 'config'), HOME: folder };
let service: TestService;
let ada: Tenant;
beforeAll(async () => {
  service = await startService();
  ada = await service.signUp('ada');
  await planeInit({ dataDir });
}, 60_000);
afterAll(async () => {
  await service.end();
  rmSync(folder, { recursive: true, force: true });
});

const gov = (argv: readonly string[], more: Parameters<typeof govHere>[1] = {}) =>
  govHere(['plane', ...argv, '--data', dataDir], {
    cwd: folder,
    now: Date.now(),
    ...more,
    env: { ...env, ...more.env },
  });

describe('gov plane enroll', () => {
  it('gov plane enroll needs a plausible token and a plane', async () => {
    const words = ['enroll', '--service', service.origin];
    expect(await gov(words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('GOV_ENROLMENT_TOKEN'),
    });
    expect(await gov([...words, '--token', 'secret'])).toMatchObject({ code: 2 });
    expect((await gov([...words, '--token', `gov_enr_${'a'.repeat(38)}`])).code).toBe(4);
    const elsewhere = [
      'plane',
      ...words,
      '--token',
      `gov_enr_${'a'.repeat(38)}`,
      '--data',
      join(folder, 'none'),
    ];
    expect((await govHere(elsewhere, { env })).code).toBe(5);
  });

  it('gov plane enroll takes a token from a file, reports the enrolment and shows no secret', async () => {
    const { token, dataPlaneId } = await register(ada);
    writeFileSync(join(folder, 'token'), `${token}\n`, { mode: 0o600 });
    const words = ['enroll', '--service', service.origin, '--token-file', 'token', '--mode', 'manual-file'];
    const { code, stdout, stderr } = await gov([...words, '-o', 'json']);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('warning')]);
    const { current } = readEnrolment(dataDir)!;
    expect(JSON.parse(stdout)).toMatchObject({
      dataPlaneId,
      mode: 'manual-file',
      keyLast4: current.key.slice(-4),
    });
    for (const secret of [token, current.key, current.signingSecret])
      expect(stdout + stderr).not.toContain(secret);
    expect(await gov(words)).toMatchObject({ code: 6, stderr: expect.stringContaining('--force') });
    const late = { columns: 80, now: Date.now() - 3_600_000 };
    const again = await gov([...words, '--force'], late);
    expect(again.stderr).toMatch(/this clock is 3\d{3} s behind the service’s; set it/);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining(dataPlaneId)]);
  });

  it('gov plane enroll refuses a token file that others can read, and gives advice for each refusal', async () => {
    const open = join(folder, 'open.token');
    writeFileSync(open, `gov_enr_${'a'.repeat(38)}\n`);
    chmodSync(open, 0o644);
    const words = ['enroll', '--service', service.origin, '--force', '--token-file', open];
    expect(await gov(words)).toMatchObject({ code: 2, stderr: expect.stringContaining(`chmod 600 ${open}`) });
    chmodSync(open, 0o600);
    const unknown = await gov(words);
    expect([unknown.code, unknown.stderr]).toEqual([4, expect.stringContaining('gov planes token ID')]);
    expect(unknown.stderr).not.toMatch(/gov auth login|gov context show/);

    const kept = join(dataDir, 'keys', 'telemetry.json');
    chmodSync(kept, 0o644);
    const readable = await gov(words.filter((word) => word !== '--force'));
    expect([readable.code, readable.stderr]).toEqual([4, expect.stringContaining('run chmod 600 on it')]);
    expect(readable.stderr).not.toContain('approver');
    chmodSync(kept, 0o600);

    const help = (await gov(['enroll', '--help'])).stdout;
    expect(help.slice(help.search(/examples/i))).not.toContain('--token gov_enr_');
  });

  it('gov plane enroll warns before credentials arrive unencrypted', async () => {
    const words = [
      'enroll',
      '--service',
      'http://gov.invalid',
      '--token',
      `gov_enr_${'a'.repeat(38)}`,
      '--force',
    ];
    expect(await gov(words)).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('come unencrypted from gov.invalid'),
    });
  });
});

describe('usage by hand', () => {
  it('gov plane telemetry exports and imports usage, and shows the bytes that the signature covers', async () => {
    const shown = await gov(['telemetry', 'show', '--pending']);
    expect(shown).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('no message waits') });
    const out = join(folder, 'usage.ndjson');
    expect(await gov(['usage', 'export', '-O', out])).toMatchObject({ code: 0, stdout: '' });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const messages = readFileSync(out, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Message);
    expect((await gov(['telemetry', 'show'])).stdout).toBe(messages.map(({ body }) => `${body}\n`).join(''));
    const piped = await gov(['usage', 'export']);
    expect(
      piped.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).body),
    ).toEqual(messages.map(({ body }) => body));
    const { body } = await ada.call('POST', '/telemetry/import', { body: { messages } });
    const lines = body.receipts.map((each: unknown) => `${JSON.stringify(each)}\n`).join('');
    const taken = await gov(['usage', 'receipts', '-', '-o', 'json'], { input: lines });
    expect([taken.code, JSON.parse(taken.stdout)]).toEqual([
      0,
      { accepted: 1, refused: 0, challenges: 1, unsettled: 0, held: null },
    ]);
    const answers = (await gov(['usage', 'export'])).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers.map(({ kind }) => kind)).toEqual(['attestation']);
    const second = await ada.call('POST', '/telemetry/import', { body: { messages: answers } });
    writeFileSync(
      join(folder, 'receipts'),
      second.body.receipts.map((each: unknown) => JSON.stringify(each)).join('\n'),
    );
    expect(await gov(['usage', 'receipts', 'receipts'])).toMatchObject({ code: 0 });
    const last = (await gov(['telemetry', 'show', '--last'])).stdout.trimEnd().split('\n');
    expect(last.slice(0, 1)).toEqual([messages[0]?.body]);
    expect(last.map((line) => Object.keys(JSON.parse(line)).length)).toHaveLength(4); // report, receipt, answer, result
    expect(JSON.parse(last[3] ?? '')).toMatchObject({ status: 'verified' });
    expect((await gov(['telemetry', 'show', '--all'])).stdout.trimEnd().split('\n')).toEqual(last);
    expect((await gov(['usage', 'receipts', 'token'])).code).toBe(2);
    expect((await gov(['telemetry', 'show', '--last', '--pending'])).code).toBe(2);
  });

  it('gov plane telemetry exits with 3 when a receipt refuses a message', async () => {
    const id = JSON.parse((await gov(['telemetry', 'show', '--last'])).stdout.split('\n')[0] ?? '').reportId;
    const receipt = { kind: 'usage', id, status: 400, answer: { code: 'REPORT_CONFLICT', detail: 'no' } };
    expect(await gov(['usage', 'receipts', '-'], { input: JSON.stringify(receipt) })).toMatchObject({
      code: 3,
    });
  });
});

describe('gov plane rotate-credentials', () => {
  it('gov plane rotate-credentials replaces the credentials and shows neither pair', async () => {
    const before = readEnrolment(dataDir)!.current;
    const { code, stdout } = await gov(['rotate-credentials', '--overlap', '1h', '-o', 'json']);
    const { current, previous } = readEnrolment(dataDir)!;
    expect(code).toBe(0);
    expect(previous).toMatchObject(before);
    expect(JSON.parse(stdout)).toEqual({
      dataPlaneId: readEnrolment(dataDir)!.dataPlaneId,
      keyLast4: current.key.slice(-4),
      previousValidUntil: previous?.validUntil,
    });
  });

  it('gov plane rotate-credentials gives advice when the service takes neither pair', async () => {
    const enrolment = readEnrolment(dataDir)!;
    const current = { ...enrolment.current, key: `gov_hyb_${'a'.repeat(38)}` };
    writeEnrolment(dataDir, { ...enrolment, current, previous: null });
    const { code, stderr } = await gov(['rotate-credentials']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('gov plane enroll --force')]);
    expect(stderr).not.toMatch(/gov auth login|gov context show/);
    writeEnrolment(dataDir, enrolment);
  });
});

describe('gov plane telemetry schema', () => {
  it('the telemetry schema allows no unnamed member and no text without a limit or a pattern', async () => {
    const { code, stdout } = await govHere(['plane', 'telemetry', 'schema'], { env });
    expect(code).toBe(0);
    const open: string[] = [];
    const walk = (schema: Record<string, unknown>, path: string): void => {
      const { type, properties, additionalProperties, items, anyOf, $defs } = schema;
      if (type === 'object' && additionalProperties !== false) open.push(path);
      const isBound = ['pattern', 'maxLength', 'const', 'format'].some((name) => name in schema);
      if (type === 'string' && !isBound) open.push(path);
      if (type === 'array' && !('maxItems' in schema)) open.push(path);
      for (const [name, each] of Object.entries({ ...(properties as object), ...($defs as object) }))
        walk(each as Record<string, unknown>, `${path}/${name}`);
      if (items !== undefined) walk(items as Record<string, unknown>, `${path}/[]`);
      for (const each of (anyOf as Record<string, unknown>[] | undefined) ?? []) walk(each, `${path}|`);
    };
    const schema = JSON.parse(stdout);
    walk(schema, '');
    expect(Object.keys(schema.$defs)).toEqual([
      'usageReport',
      'attestation',
      'enrolment',
      'enrolmentByFile',
      'rotation',
    ]);
    expect(open).toEqual([]);
  });
});
