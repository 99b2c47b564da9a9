/** docs/how-to/approve-with-a-signature.md is followed line by line, with ssh-keygen and openssl. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signatureFiles, verifyCommands } from '../../src/cli/approvals/files.ts';
import { Account } from '../cli/support/account.ts';
import { shell } from '../cli/support/tool.ts';
import { has } from '../interop/support/exported.ts';
import { governing } from '../service/support/governed.ts';
import { startPlane, type TestPlane } from '../support/serving.ts';
import { SshSigner, VirtualPasskey } from '../support/signers.ts';
import { blocks, page, withoutComment } from './pages.ts';

const of = page('docs/how-to/approve-with-a-signature.md');
const missing = ['ssh-keygen', 'openssl', 'jq', 'basenc'].filter((program) => !has(program));
const ssh = new SshSigner();
let plane: TestPlane;
let gov: ReturnType<typeof governing>;
let account: Account;
/** What a reader fills in. */
const fill = new Map<string, string>();

beforeAll(async () => {
  plane = await startPlane({ extraKeys: { ada: { scopes: ['governance:read', 'approvals:decide'] } } });
  gov = governing(plane);
  account = new Account({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.keys['ada'] ?? '' });
  fill.set('~/.ssh/id_ed25519', ssh.file);
});
afterAll(async () => {
  await plane.end();
  ssh.end();
});

const run = (line: string, env: object = {}) =>
  shell(line, { env: { ...account.env, ...env }, cwd: account.folder });

/** Follows the first block below a heading, and returns what its last command said. */
async function follow(heading: string): Promise<string> {
  let said = '';
  const [block = ''] = blocks(of, 'sh', heading);
  const lines = block.split('\n').map(withoutComment).filter(Boolean);
  // each line runs in a shell of its own
  const folder = lines.find((line) => line.startsWith('cd '))?.slice(3);
  for (const line of lines.filter((each) => !each.startsWith('cd '))) {
    const filled = [...fill].reduce((text, [gap, value]) => text.replaceAll(gap, value), line);
    const inFolder = folder !== undefined && !line.startsWith('gov') ? `cd ${folder} && ${filled}` : filled;
    const { code, stdout, stderr } = await run(inFolder);
    expect([filled, code, code === 0 ? '' : stderr]).toEqual([filled, 0, '']);
    said = stdout;
  }
  return said;
}

describe.skipIf(missing.length > 0)(
  `the page on signed approvals (needs ${missing.join(', ') || 'nothing more'})`,
  () => {
    it('a reader enrols a key, requires a signature, signs, verifies by hand, and revokes the key', async () => {
      await follow('Enrol a key');
      const [approver] = JSON.parse((await run('gov approvers list -o json')).stdout).data;
      fill.set('apv_…', approver.approverId);
      fill.set('key_…', approver.principal);

      const [policy = ''] = blocks(of, '', 'Require a signature');
      mkdirSync(join(account.folder, 'p'));
      writeFileSync(join(account.folder, 'p/refund.policy'), policy);
      const created = await run('gov policy create p --publish', { GOV_API_KEY: plane.key });
      expect([created.code, created.stderr]).toEqual([0, expect.any(String)]);
      const { approvalId } = await gov.tool('page', 'refund');
      fill.set('apr_…', approvalId ?? '');
      const unsigned = await run(`gov approvals approve ${approvalId}`);
      expect([unsigned.code, unsigned.stderr]).toEqual([2, expect.stringContaining('signature')]);

      expect(await follow('Sign')).toContain('"kind":"ssh","name":"Ada, laptop"');
      expect((await gov.tool('page', 'refund')).decision).toBe('allow');

      expect(await follow('Verify')).toContain('Good "gov-approval@v1" signature');
      const statement = join(account.folder, 'signed/statement.json');
      writeFileSync(statement, readFileSync(statement, 'utf8').replace('approved', 'denied'));
      const [byHand = ''] = blocks(of, 'sh', 'Verify');
      const last = byHand.trim().split('\n').at(-1) ?? '';
      const forged = await run(`cd signed && ${last.replace('key_…', approver.principal)}`);
      expect(forged.code).not.toBe(0);

      expect(await follow('Revoke a key')).toContain('revoked');
    });

    it('the line of the page with openssl verifies what a passkey signed, and nothing else', async () => {
      const [, line = ''] = /`(openssl dgst[^`]*)`/.exec(of.text) ?? [];
      const passkey = new VirtualPasskey('https://gov.example');
      const text = '{"type":"gov.approval-statement/1"}';
      const challenge = await run(
        `printf '%s' '${text}' | openssl dgst -sha256 -binary | basenc --base64url | tr -d =`,
      );
      const signature = { statement: text, ssh: null, passkey: passkey.get(challenge.stdout.trim()) };
      const enrolled = { publicKey: passkey.publicKey.toString('base64'), principal: 'key_1' };
      const files = signatureFiles(signature as never, enrolled as never);
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(account.folder, 'passkey', name)), { recursive: true });
        writeFileSync(join(account.folder, 'passkey', name), content);
      }
      expect(verifyCommands(signature, enrolled)).toContain(line);
      for (const command of verifyCommands(signature, enrolled))
        expect((await run(`cd passkey && ${command}`)).code, command).toBe(0);
      writeFileSync(join(account.folder, 'passkey/signed.bin'), 'other');
      expect((await run(`cd passkey && ${line}`)).code).not.toBe(0);
    });
  },
);
