/** A person signs an approval on the command line, and the tools of others verify it. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAbout, otherCountNotice } from '../../../../src/cli/approvals/sign.ts';
import { signatureFiles, verifyCommands } from '../../../../src/cli/approvals/files.ts';
import { firstShownHash } from '../../../../src/core/decided/view-hash.ts';
import { sha256 } from '../../../../src/core/hash.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { SshSigner, VirtualPasskey } from '../../../support/signers.ts';

let plane: PolicyPlane;
const ssh = new SshSigner();
const stranger = new SshSigner();
beforeAll(async () => {
  plane = await startPolicyPlane({
    extraKeys: { approver: { scopes: ['approvals:decide', 'governance:read'] } },
  });
  plane.write('p/ask.policy', 'escalate "ask" high signed\nwhen tool.name == "pay"');
  await plane.json('policy create p --publish');
});
afterAll(async () => {
  await plane.end();
  ssh.end();
  stranger.end();
});

const asApprover = () => ({ env: { GOV_API_KEY: plane.keys['approver'] ?? '' }, columns: 200 });
const asked = async (run: string): Promise<string> =>
  (await plane.json(`tools evaluate --tool pay --run ${run}`)).approvalId;
/** Runs a command line in a folder; throws where it fails. */
const sh = (line: string, cwd: string): string =>
  execFileSync('sh', ['-c', line], { cwd, encoding: 'utf8', stdio: 'pipe' });

describe('approvals approve --sign', () => {
  it('gov signs with an enrolled SSH key, shows the statement, and ssh-keygen verifies the exported files', async () => {
    const added = await plane.gov(`approvers add Ada --ssh-key ${ssh.file}`, asApprover());
    expect(added.stdout).toMatch(/^enrolled {2}apv_\S+ {2}Ada, for key_/);
    const approvalId = await asked('s1');
    const unsigned = await plane.gov(`approvals approve ${approvalId}`, asApprover());
    expect([unsigned.code, unsigned.stderr]).toEqual([2, expect.stringContaining('expected a signature')]);
    expect((await plane.gov(`approvals show ${approvalId}`, asApprover())).stdout).toContain(
      'a signature is required',
    );
    const decided = await plane.gov(
      `approvals approve ${approvalId} --ssh-key ${ssh.file} --comment fine`,
      asApprover(),
    );
    expect(decided.stderr).toContain('argumentsHash: sha256:');
    expect(decided.stderr).toContain('comment: fine');
    expect(decided.stderr).toMatch(/hidden: 0\n[^]*view: 2\n/);
    expect((await plane.gov(`approvals show ${approvalId} --signed`)).stderr).toContain('of what was signed');
    expect([decided.code, decided.stdout]).toEqual([
      0,
      expect.stringMatching(/signed by Ada with SSH key SHA256:/),
    ]);
    expect((await plane.json('tools evaluate --tool pay --run s1')).allowed).toBe(true);
    const { stdout } = await plane.gov(
      `approvals export ${approvalId} --out ${join(plane.folder, 'signed')}`,
      asApprover(),
    );
    const folder = join(plane.folder, 'signed');
    expect(sh(stdout, folder)).toContain('Good "gov-approval@v1" signature');
    writeFileSync(
      join(folder, 'statement.json'),
      readFileSync(join(folder, 'statement.json'), 'utf8').replace('approved', 'denied'),
    );
    expect(() => sh(stdout, folder)).toThrow();
  });

  it('gov signs no statement that is about another call, run, time or comment than the service shows', async () => {
    const call = { tool: { name: 'pay' }, arguments: { amount: 5 }, runId: 's0' };
    const { body: evaluated } = await plane.call('POST', '/mcp/tools/evaluate', { body: call });
    const { body: shown } = await plane.call('GET', `/approvals/${evaluated.approvalId}`);
    const key = plane.keys['approver'] ?? '';
    const { data } = await plane.json('approvers list');
    const asked = { outcome: 'approved', approverId: data[0].approverId, comment: 'fine' } as const;
    const path = `/approvals/${evaluated.approvalId}/statement`;
    const statement = JSON.parse((await plane.call('POST', path, { body: asked, key })).body.statement);
    expect(isAbout(statement, shown, asked)).toBe(true);
    const { view: _view, hidden: _hidden, ...older } = statement;
    expect(isAbout({ ...older, shownHash: firstShownHash(shown) }, shown, asked)).toBe(true);
    expect(isAbout(older, shown, asked)).toBe(false);
    for (const [name, value] of Object.entries({
      argumentsHash: `sha256:${'0'.repeat(64)}`,
      tool: { name: 'wipe' },
      runId: 's9',
      evaluationId: 'pev_9',
      expiresAt: '2099-01-01T00:00:00.000Z',
      comment: 'never said',
      outcome: 'denied',
      shownHash: `sha256:${'0'.repeat(64)}`,
      hidden: -1,
      view: 3,
    }))
      expect([name, isAbout({ ...statement, [name]: value }, shown, asked)]).toEqual([name, false]);
  });

  it('gov signs what a service with other tables of Unicode states, and says both counts', async () => {
    const call = { tool: { name: 'pay' }, arguments: { note: 'pay bob\u{e0041}\u{e0042}' }, runId: 's5' };
    const { body: evaluated } = await plane.call('POST', '/mcp/tools/evaluate', { body: call });
    const { body: shown } = await plane.call('GET', `/approvals/${evaluated.approvalId}`);
    const key = plane.keys['approver'] ?? '';
    const { data } = await plane.json('approvers list');
    const asked = { outcome: 'approved', approverId: data[0].approverId, comment: null } as const;
    const path = `/approvals/${evaluated.approvalId}/statement`;
    const { comment: _none, ...body } = asked;
    const statement = JSON.parse((await plane.call('POST', path, { body, key })).body.statement);
    expect([statement.hidden, otherCountNotice(statement, shown)]).toEqual([2, null]);
    for (const hidden of [0, 3]) {
      const other = { ...statement, hidden };
      expect(isAbout(other, shown, asked)).toBe(true);
      expect(otherCountNotice(other, shown)).toContain(
        `the service states ${hidden} hidden characters, this gov counts 2`,
      );
    }
    // a service that hides a character from the approver states the hash of another view
    const less = { ...shown, arguments: { note: 'pay bob\u{e0041}' } };
    expect(isAbout({ ...statement, hidden: 1 }, less, asked)).toBe(false);
  });

  it('gov refuses a key that nobody enrolled, and signs nothing', async () => {
    const approvalId = await asked('s2');
    const { code, stderr } = await plane.gov(
      `approvals approve ${approvalId} --ssh-key ${stranger.file}`,
      asApprover(),
    );
    expect([code, stderr]).toEqual([5, expect.stringContaining('expected an active approver with the key')]);
    expect((await plane.json(`approvals show ${approvalId}`)).status).toBe('pending');
  });

  it('gov lists approvers, revokes one, and exports no decision without a signature', async () => {
    const { data } = await plane.json('approvers list');
    expect(data).toMatchObject([{ name: 'Ada', kind: 'ssh', status: 'active' }]);
    const approvalId = await asked('s3');
    await plane.gov(`approvals deny ${approvalId}`, asApprover());
    expect((await plane.gov(`approvals export ${approvalId} --out none`, asApprover())).code).toBe(3);
    expect((await plane.gov(`approvers revoke ${data[0].approverId} --yes`)).code).toBe(0);
    expect((await plane.json('approvers list --status active')).data).toEqual([]);
  });

  it.each(['ES256', 'EdDSA', 'RS256'] as const)(
    'openssl verifies the files of a passkey of %s',
    (algorithm) => {
      const passkey = new VirtualPasskey('https://gov.example', { algorithm });
      const statement = '{"type":"gov.approval-statement/1"}';
      const made = passkey.get(sha256(statement).toString('base64url'));
      const publicKey = passkey.publicKey.toString('base64');
      const approver = { principal: 'key_1', publicKey };
      const signature = {
        approverId: 'apv_1',
        kind: 'passkey' as const,
        name: 'Ada',
        fingerprint: '',
        statement,
        ssh: null,
        passkey: made,
      };
      for (const [name, content] of Object.entries(signatureFiles(signature, approver)))
        writeFileSync(join(plane.folder, name), content);
      for (const line of verifyCommands(signature, approver)) sh(line, plane.folder);
      plane.write('statement.json', `${statement} `);
      expect(() => verifyCommands(signature, approver).map((line) => sh(line, plane.folder))).toThrow();
    },
  );
});
