import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane({
    extraKeys: {
      approver: { scopes: ['approvals:decide'] },
      reviewer: { scopes: ['approvals:decide', 'governance:read'] },
    },
  });
  plane.write('p/ask.policy', 'escalate "ask"\nwhen tool.name == "pay"');
  await plane.json('policy create p --publish');
  const note = 'x'.repeat(30_000);
  plane.write('call.json', {
    tool: { name: 'pay', server: 'bank' },
    arguments: { note, amount: 5 },
    runId: 'r1',
    actor: 'payer',
  });
});
afterAll(() => plane.end());

const terminal = { columns: 100 };

describe('approvals show', () => {
  it('approvals show on a terminal shows each argument, a long one clipped, and how long it waits', async () => {
    const { approvalId } = await plane.json('tools evaluate call.json');
    const { stdout } = await plane.gov(`approvals show ${approvalId}`, terminal);
    expect(stdout).toMatch(/^pending {2}apr_\S+ {2}asked now, expires in 24 h\n/);
    expect(stdout).toContain('pay on bank\nrun r1, key local operator (key_');
    expect(stdout).toContain('actor payer\nask v1: escalate v1');
    expect(stdout).toMatch(
      /arguments\n {2}amount: 5\n {2}note: x{200}… \(30000 bytes, sha256:[0-9a-f]{12}…\)\n/,
    );
    const list = await plane.gov('approvals list', { columns: 250 });
    expect(list.stdout).toContain('"amount":5');
    expect((await plane.json(`approvals show ${approvalId}`)).arguments.note).toHaveLength(30_000);
  });

  it('approvals list names the approvals whose call has something that nobody sees', async () => {
    const ids = [];
    for (const to of ['bob', 'b\u043eb\u3164']) {
      plane.write('seen.json', { tool: { name: 'pay' }, arguments: { to }, runId: 'r9' });
      ids.push((await plane.json('tools evaluate seen.json')).approvalId);
    }
    const [plain, hidden] = ids;
    for (const flags of ['', ' -o csv']) {
      const { stderr } = await plane.gov(`approvals list${flags}`, terminal);
      expect(stderr).toContain(`warning: ${hidden}: 1 hidden character, letters of several scripts\n`);
      expect(stderr).not.toContain(plain);
    }
    expect((await plane.gov('approvals list -o json', terminal)).stderr).toBe('');
  });

  it('approvals show prints no two calls alike: texts that could be read as others are in quotes', async () => {
    const given = {
      'to: bob': 'x',
      to: 'bob: x',
      t: 'true',
      num: '5',
      five: 5,
      o: '{"a":1}',
      e: '',
      line: 'a\\nb',
    };
    const call = { tool: { name: 'pay', server: 'bank on evil' }, arguments: given, runId: 'r4' };
    plane.write('alike.json', call);
    const { approvalId } = await plane.json('tools evaluate alike.json');
    const { stdout } = await plane.gov(`approvals show ${approvalId}`, terminal);
    expect(stdout).toContain('pay on "bank on evil"\n');
    for (const line of [
      '"to: bob": x',
      'to: "bob: x"',
      't: "true"',
      'num: "5"',
      'five: 5',
      'o: "{\\"a\\":1}"',
      'e: ""',
      'line: "a\\\\nb"',
    ])
      expect(stdout).toContain(`\n  ${line}\n`);
  });

  it('approvals show says what is hidden above the arguments, and --signed prints every character', async () => {
    const hidden = { note: 'pay bob\u{e0041}\u{e0042}', to: 'bo\u3164b', who: 'p\u0430ypal' };
    plane.write('hidden.json', { tool: { name: 'pay' }, arguments: hidden, runId: 'r3' });
    const { approvalId } = await plane.json('tools evaluate hidden.json');
    const { stdout } = await plane.gov(`approvals show ${approvalId}`, terminal);
    expect(stdout).toContain(
      [
        '! 2 hidden characters in `note`, spells: AB',
        '! 1 hidden character in `to`',
        '! letters of several scripts in `who`: p\u0430ypal (p\\u0430ypal)',
        'arguments',
        '  note: "pay bob\\udb40\\udc41\\udb40\\udc42"',
      ].join('\n'),
    );
    const piped = await plane.gov(`approvals show ${approvalId}`);
    expect(piped.stdout).toContain('\nhidden\t3\n');
    expect(piped.stderr).toContain('2 hidden characters in `note`, spells: AB');
    expect(piped.stderr).toContain('letters of several scripts in `who`');
    const asJson = await plane.gov(`approvals show ${approvalId} -o json`);
    expect([JSON.parse(asJson.stdout).hidden, asJson.stderr]).toEqual([3, '']);
    const view = await plane.gov(`approvals show ${approvalId} --signed`);
    expect(view.stdout).toMatch(/^[ -~]+\n$/);
    const approved = await plane.gov(`approvals approve ${approvalId}`, {
      ...terminal,
      env: { GOV_API_KEY: plane.keys['reviewer'] ?? '' },
    });
    expect([approved.code, approved.stdout]).toEqual([
      0,
      expect.stringMatching(/^approved.+\n {2}policy ask: escalate v1: /),
    ]);
    expect(approved.stderr).toContain('2 hidden characters in `note`, spells: AB');
    expect(JSON.parse(view.stdout).arguments).toEqual(hidden);
    const hash = createHash('sha256').update(`gov.approvalview/v2\n${view.stdout.trimEnd()}`).digest('hex');
    expect(view.stderr).toContain(`shownHash sha256:${hash}`);
    expect(await plane.json(`approvals show ${approvalId} --signed`)).toMatchObject({
      approvalId,
      view: view.stdout.trimEnd(),
      shownHash: `sha256:${hash}`,
      hidden: 3,
    });
  });

  it('approvals show says who decided and what used the approval', async () => {
    const { approvalId } = await plane.json('tools evaluate call.json --run r2');
    const asApprover = { env: { GOV_API_KEY: plane.keys['approver'] ?? '' } };
    await plane.gov(`approvals approve ${approvalId} --comment fine`, asApprover);
    const shown = async () => (await plane.gov(`approvals show ${approvalId}`, terminal)).stdout;
    expect(await shown()).toMatch(
      /^approved {2}apr_\S+ {2}by approver \(key_\w+\) at \S+Z, after 0 s: fine; not used, expires in 24 h\n/,
    );
    const { evaluationId } = await plane.json('tools evaluate call.json --run r2');
    expect(await shown()).toContain(`used by ${evaluationId} at 20`);
  });
});
