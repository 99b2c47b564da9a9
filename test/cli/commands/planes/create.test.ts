import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrust } from '../../../../src/core/note/trust.ts';
import { openNote, parseVerifierKey } from '../../../../src/core/note/signed.ts';
import type { Message, Receipt } from '../../../../src/contract/telemetry.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import {
  canonical,
  enroll,
  ReportingPlane,
  seconds,
  Sender,
  signatureOf,
} from '../../../support/telemetry-plane.ts';
import { Account } from '../../support/account.ts';

let service: TestService;
let tenant: Tenant;
let account: Account;
let projectId: string;
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('ada');
  projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  account = new Account();
  const login = ['auth', 'login', '--api-key-stdin', '--base-url', `${service.origin}/api/v1`, '-C', 'acme'];
  expect((await account.gov(login, { input: tenant.keys.production })).code).toBe(0);
});
afterAll(() => service.end());

const environment = 'production' as const;
const created = async (name: string): Promise<Sender> => {
  const made = await account.json(['planes', 'create', '--show-secret', name]);
  const { dataPlaneId } = made.dataPlane;
  const plane = new ReportingPlane({ name }, { dataPlaneId, projectId, environment });
  const enrolled = await enroll(tenant.call, plane, made.enrolmentToken);
  return new Sender(plane, enrolled.body, tenant.call);
};

describe('gov planes', () => {
  it('gov planes create shows the token once, with the command that exchanges it', async () => {
    const { code, stdout, stderr } = await account.gov(['planes', 'create', '--show-secret', 'ward-1']);
    const token = /gov_enr_[0-9A-Za-z]{38}/.exec(stdout)?.[0] ?? '';
    expect([code, token.length]).toEqual([0, 46]);
    expect(stderr).toContain(`gov plane enroll --service ${service.origin}/api/v1 --token ${token}`);
    const file = join(account.folder, 'ward.token');
    const kept = await account.gov(['planes', 'create', 'ward-2', '--out', 'ward.token']);
    expect([kept.code, `${kept.stdout}${kept.stderr}`.includes('gov_enr_')]).toEqual([0, false]);
    expect(readFileSync(file, 'utf8')).toMatch(/^gov_enr_[0-9A-Za-z]{38}\n$/);
    expect(kept.stderr).toContain('--token-file ward.token');
    expect((await account.gov(['planes', 'create', 'ward-3', '--out', 'ward.token'])).code).toBe(2);
    expect((await account.gov(['planes', 'create', 'ward-3', '-o', 'id'])).code).toBe(2);
  });

  it('gov planes cosigner prints the cosigner key of the service, not one from a plane', async () => {
    const sender = await created('ward-12');
    const { cosignature } = (await sender.work(2)).body;
    const { code, stdout } = await account.gov(['planes', 'cosigner']);
    const key = parseVerifierKey(stdout.trim());
    expect([code, key.algorithm]).toEqual([0, 'ed25519-cosignature']);
    expect(await account.json(['planes', 'cosigner'])).toEqual({ cosignerKey: stdout.trim() });
    const { checkpoint } = sender.plane.reports.at(-1)!.log;
    const { verified } = openNote(`${checkpoint}${cosignature}`, [key]);
    expect(verified.map(({ name }) => name)).toEqual([key.name]);
    // nobody has to sign in for it
    const stranger = new Account();
    const base = ['--base-url', `${service.origin}/api/v1`];
    expect((await stranger.gov(['planes', 'cosigner', ...base])).stdout).toBe(stdout);
    const lines = (await account.gov(['planes', 'cosigner', '--trust'])).stdout;
    const log = sender.plane.identity.verifierKey;
    expect(parseTrust(`log ${log}\n${lines}`)).toMatchObject({ quorum: 1, witnesses: [{ text: key.text }] });
  });

  it('gov planes heads writes the signed audit heads, and another history of that log is convicted', async () => {
    const sender = await created('ward-13');
    const { dataPlaneId } = sender.plane.home;
    expect((await account.gov(['planes', 'heads', dataPlaneId])).code).toBe(5);
    for (let at = 0; at < 2; at++) await sender.work(3);
    const { code } = await account.gov(['planes', 'heads', dataPlaneId, '-O', 'ward.govheads.json']);
    expect(code).toBe(0);
    const { auditOrigin, auditVerifierKey } = sender.plane.identity;
    const text = readFileSync(join(account.folder, 'ward.govheads.json'), 'utf8');
    const notes = sender.plane.reports.map(({ auditLog }) => auditLog.checkpoint).toReversed();
    expect(JSON.parse(text)).toMatchObject({
      origin: auditOrigin,
      heads: notes.map((checkpoint) => ({ checkpoint, paths: [] })),
    });

    // an auditor who has the key of the log; the plane shows it another tree of the same size
    const auditor = new Account();
    const key = ['--key', auditVerifierKey];
    const shown = new ReportingPlane({ name: 'ward-13' }, sender.plane.home);
    shown.audit.append(Buffer.from('another leaf'));
    while (shown.audit.size < sender.plane.audit.size) shown.audit.append(Buffer.from('more'));
    writeFileSync(join(auditor.folder, 'shown'), shown.checkpoint(shown.audit, auditOrigin));
    writeFileSync(join(auditor.folder, 'ward.govheads.json'), text);
    expect((await auditor.gov(['heads', 'import', 'ward.govheads.json', ...key])).code).toBe(0);
    const split = await auditor.gov(['heads', 'import', 'shown', ...key]);
    expect([split.code, split.stdout]).toEqual([3, expect.stringContaining('split')]);
  });

  it('gov planes lists planes, shows their reports and revokes them', async () => {
    const sender = await created('ward-4');
    const { dataPlaneId } = sender.plane.home;
    for (let at = 0; at < 2; at++) await sender.work(3);
    const { stdout } = await account.gov(['planes', 'list', '-o', 'id']);
    expect(stdout.split('\n')[0]).toBe(dataPlaneId);
    expect(await account.json(['planes', 'show', dataPlaneId])).toMatchObject({
      status: 'active',
      missing: 0,
    });
    const reports = await account.gov(['planes', 'reports', dataPlaneId, '-o', 'ndjson']);
    expect(
      reports.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).sequence),
    ).toEqual([2, 1]);
    const narrow = await account.gov(['planes', 'reports', dataPlaneId], {
      columns: 80,
      env: { NO_COLOR: '1' },
    });
    expect(narrow.stdout).toMatch(/^REPORT ID +SEQUENCE {2}ATTESTATION {2}LINKED/);
    const table = await account.gov(['planes', 'list'], { columns: 140, env: { NO_COLOR: '1' } });
    expect([table.code, table.stdout]).toEqual([0, expect.stringContaining('ward-4')]);
    expect((await account.gov(['planes', 'revoke', dataPlaneId])).code).toBe(2);
    expect((await account.gov(['planes', 'revoke', dataPlaneId, '--yes'])).code).toBe(0);
    expect(await account.json(['planes', 'show', dataPlaneId])).toMatchObject({ status: 'revoked' });
    expect((await account.gov(['planes', 'revoke', dataPlaneId, '--yes'])).code).toBe(5);
  });

  it('gov planes token gives a new token, with which a plane enrols again under its own id', async () => {
    const sender = await created('ward-7');
    const { dataPlaneId } = sender.plane.home;
    expect((await account.gov(['planes', 'revoke', dataPlaneId, '--yes'])).code).toBe(0);
    const shown = await account.gov(['planes', 'token', '--show-secret', dataPlaneId]);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/gov_enr_[0-9A-Za-z]{38}/)]);
    expect(shown.stderr).toContain('--force');
    const kept = await account.gov(['planes', 'token', dataPlaneId, '--out', 'ward-7.token']);
    expect([kept.code, `${kept.stdout}${kept.stderr}`.includes('gov_enr_')]).toEqual([0, false]);
    const token = readFileSync(join(account.folder, 'ward-7.token'), 'utf8').trim();
    sender.plane.rekey('ward-7 b');
    expect((await enroll(tenant.call, sender.plane, token)).body).toMatchObject({ dataPlaneId });
    const { status, formerKeys } = await account.json(['planes', 'show', dataPlaneId]);
    expect([status, formerKeys.length]).toEqual(['active', 1]);
    const none = await account.gov(['planes', 'token', '--show-secret', 'dpl_01jzzzzzzzzzzzzzzzzzzzzzzz']);
    expect(none.code).toBe(5);
  });
});

describe('gov usage import', () => {
  const message = (sender: Sender, body: unknown): Message => {
    const timestamp = seconds();
    const text = canonical(body);
    const { signingSecret } = sender.credentials;
    const signature = signatureOf(signingSecret, text, timestamp)['x-telemetry-signature'] ?? '';
    return { kind: 'usage', dataPlaneId: sender.plane.home.dataPlaneId, timestamp, signature, body: text };
  };
  const write = (name: string, lines: readonly unknown[]): void =>
    writeFileSync(join(account.folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

  it('gov usage import takes files and returns receipts, and a repetition changes nothing', async () => {
    const sender = await created('ward-5');
    const messages = Array.from({ length: 3 }, () => message(sender, sender.plane.work(2).report()));
    write('one.ndjson', messages.slice(0, 2));
    write('two.ndjson', messages.slice(2));
    const over = await account.gov(['usage', 'import', 'one.ndjson', '--receipts', 'one.ndjson']);
    expect([over.code, over.stderr]).toEqual([
      2,
      expect.stringContaining('--receipts: expected another file'),
    ]);
    const nowhere = await account.gov(['usage', 'import', 'one.ndjson', '--receipts', 'none/receipts']);
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('the folder does not exist')]);
    const bring = ['usage', 'import', 'one.ndjson', 'two.ndjson', '--receipts', 'receipts.ndjson'];
    const first = await account.gov(bring);
    expect([first.code, first.stdout.match(/accepted/g)?.length]).toEqual([0, 3]);
    const lines = readFileSync(join(account.folder, 'receipts.ndjson'), 'utf8').trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as Receipt).status)).toEqual([202, 202, 202]);
    const second = await account.gov(bring);
    expect([second.code, second.stdout.match(/duplicate/g)?.length]).toEqual([0, 3]);
  });

  it('gov usage import exits with 3 for a refused message and with 2 for an invalid line', async () => {
    const sender = await created('ward-6');
    const good = message(sender, sender.plane.work(2).report());
    write('mixed.ndjson', [{ ...good, signature: '0'.repeat(64) }, good]);
    const { code, stdout } = await account.gov(['usage', 'import', 'mixed.ndjson']);
    expect([code, stdout]).toEqual([3, expect.stringContaining('INVALID_SIGNATURE')]);
    writeFileSync(join(account.folder, 'torn.ndjson'), `${JSON.stringify(good)}\n{"kind":`);
    const torn = await account.gov(['usage', 'import', 'torn.ndjson']);
    expect([torn.code, torn.stderr]).toEqual([
      2,
      expect.stringContaining('torn.ndjson:2:9: not whole JSON: '),
    ]);
    expect((await account.gov(['usage', 'import', 'none.ndjson'])).code).toBe(2);
  });
});
