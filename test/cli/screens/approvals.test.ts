import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShownApproval } from '../../../src/contract/approvals.ts';
import {
  approvalsState,
  chosenApproval,
  reduceApprovals,
  type ApprovalsState,
} from '../../../src/cli/screens/approvals/state.ts';
import { approvalText } from '../../../src/cli/screens/approvals/text.ts';
import type { KeyAction } from '../../../src/cli/screens/keys.ts';
import { limits } from '../../../src/contract/limits.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { opened } from './support/opened.ts';

const approval = (approvalId: string): ShownApproval => ({
  approvalId,
  evaluationId: 'pev_1',
  runId: 'r1',
  reason: 'ask',
  status: 'pending',
  requestedAt: '2026-03-01T12:00:00.000Z',
  requestedBy: 'key_1',
  requestedByName: 'agent',
  decidedByName: null,
  decidedAt: null,
  decidedBy: null,
  comment: null,
  expiresAt: '2026-03-02T12:00:00.000Z',
  used: null,
  tool: { name: 'pay' },
  arguments: { amount: 5 },
  actor: null,
  context: null,
  policies: [],
  signatureRequired: false,
  signature: null,
});
const read = (state: ApprovalsState, ids: readonly string[]): ApprovalsState =>
  reduceApprovals(state, { kind: 'read', rows: ids.map(approval), atMs: 0 });
const press = (state: ApprovalsState, ...actions: KeyAction[]): ApprovalsState =>
  actions.reduce((now, action) => reduceApprovals(now, { kind: 'key', action }), state);
const type = (state: ApprovalsState, text: string) => reduceApprovals(state, { kind: 'text', text });
const begun = approvalsState('plane', 0);

describe('the state of the inbox', () => {
  it('a decision takes the key, a comment and a yes, and shows the approval in full meanwhile', () => {
    const asked = press(read(begun, ['apr_1', 'apr_2']), 'down', 'deny');
    expect([asked.openId, asked.typing?.purpose, asked.wanted]).toEqual(['apr_2', 'comment', null]);
    const commented = press(type(asked, 'no receipt'), 'open');
    expect([commented.asking?.comment, commented.typing, commented.wanted]).toEqual([
      'no receipt',
      null,
      null,
    ]);
    expect(press(commented, 'yes').wanted).toEqual({
      approvalId: 'apr_2',
      outcome: 'denied',
      comment: 'no receipt',
    });
  });

  it('any key but y decides nothing, and esc ends the question', () => {
    const question = press(read(begun, ['apr_1']), 'approve', 'open');
    for (const action of ['approve', 'deny', 'open', 'back', 'filter', 'reload'] as const) {
      const answered = press(question, action);
      expect([answered.wanted, answered.asking, answered.message?.text]).toEqual([
        null,
        null,
        'nothing was decided',
      ]);
    }
    expect(reduceApprovals(question, { kind: 'other key' }).asking).toBeNull();
    expect(press(read(begun, ['apr_1']), 'approve', 'back').asking).toBeNull();
    expect(press(read(begun, ['apr_1']), 'yes').wanted).toBeNull();
    // new readings and ticks are no answer
    expect(read(question, ['apr_1']).asking).toEqual(question.asking);
  });

  it('the cursor stays on its approval when others come and go', () => {
    const state = press(read(begun, ['a', 'b', 'c']), 'down');
    expect(chosenApproval(read(state, ['0', 'a', 'b']))?.approvalId).toBe('b');
    expect(chosenApproval(read(state, ['a']))?.approvalId).toBe('a');
    expect(chosenApproval(read(state, []))).toBeUndefined();
  });

  it('an approval that somebody else decided closes, also during the question', () => {
    const question = press(read(begun, ['apr_1', 'apr_2']), 'approve', 'open');
    const gone = read(question, ['apr_2']);
    expect([gone.openId, gone.asking, gone.message?.isBad]).toEqual([null, null, true]);
    expect(press(gone, 'yes').wanted).toBeNull();
  });

  describe('with a call that is longer than the screen', () => {
    const withNote = (note: string, more: object = {}): ApprovalsState =>
      reduceApprovals(begun, {
        kind: 'read',
        rows: [{ ...approval('apr_1'), arguments: { note }, context: {}, ...more }],
        atMs: 0,
      });
    const drawn = (state: ApprovalsState): ApprovalsState =>
      reduceApprovals(state, {
        kind: 'drawn',
        lastScroll: approvalText(chosenApproval(state)!, state).lastScroll,
      });

    it('y approves only after the end of the call was on the screen, and denies at once', () => {
      const question = drawn(press(withNote('x'.repeat(4000)), 'approve', 'open'));
      expect(question.lastScroll).toBeGreaterThan(20);
      expect(press(question, 'yes')).toMatchObject({ wanted: null, asking: { outcome: 'approved' } });
      const near = press(question, 'last', 'up');
      expect(press(question, 'page down', 'yes').wanted).toBeNull();
      expect(press(near, 'yes').wanted).toMatchObject({ approvalId: 'apr_1', outcome: 'approved' });
      expect(press(withNote('x'.repeat(4000)), 'deny', 'open', 'yes').wanted?.outcome).toBe('denied');
      const narrow = reduceApprovals(near, { kind: 'size', columns: 60, rows: 24 });
      expect(press(drawn(narrow), 'yes').wanted).toBeNull();
    });

    it('nothing of a call is cut, and a call of more than 64 KiB is approved elsewhere', () => {
      const most = limits.approvalShownBytes - '{"note":""}{}'.length;
      const shown = press(withNote('x'.repeat(most)), 'open');
      const all = approvalText(chosenApproval(shown)!, { ...shown, rows: 2000 });
      expect(all.lines.join('').replaceAll(/[^x]/g, '')).toHaveLength(most + 'expires'.match(/x/g)!.length);
      expect(press(shown, 'approve').asking).not.toBeNull();
      const long = press(withNote('x'.repeat(most + 1)), 'approve');
      expect([long.asking, long.openId, long.message?.text]).toEqual([
        null,
        'apr_1',
        'read it with gov approvals show apr_1 --signed, then use gov approvals approve apr_1',
      ]);
      expect(approvalText(chosenApproval(long)!, long).lines.join('\n')).toContain('65,537 bytes');
      expect(press(withNote('x'.repeat(most + 1)), 'deny').asking).not.toBeNull();
    });
  });

  it('what is hidden in a call stands above its arguments', () => {
    const hidden = { note: 'bob\u{e0041}', to: 'bo\u3164b' };
    const rows = [{ ...approval('apr_1'), arguments: hidden }];
    const state = press(reduceApprovals(begun, { kind: 'read', rows, atMs: 0 }), 'open');
    const text = approvalText(chosenApproval(state)!, state).lines.join('\n');
    expect(text).toContain(
      ' ! 1 hidden character in `note`, spells: A\n ! 1 hidden character in `to`\n arguments\n',
    );
  });

  it('a failed reading keeps the rows, and a refused decision says why', () => {
    const sent = press(read(begun, ['apr_1']), 'approve', 'open', 'yes');
    const refused = reduceApprovals(sent, { kind: 'refused', for: sent.wanted!, why: 'this key asked' });
    expect([refused.message?.text, refused.wanted, refused.openId]).toEqual([
      'this key asked',
      null,
      'apr_1',
    ]);
    const unread = reduceApprovals(read(begun, ['apr_1']), { kind: 'unread', why: 'reset' });
    expect([unread.failure, unread.approvals.state]).toEqual(['reset', 'ready']);
    expect(reduceApprovals(begun, { kind: 'unread', why: 'reset' }).approvals).toEqual({
      state: 'failed',
      why: 'reset',
    });
  });
});

describe('gov approvals inbox against a plane', () => {
  let plane: PolicyPlane;
  let person: Pick<PolicyPlane, 'baseUrl' | 'key'>;
  const ids: string[] = [];
  beforeAll(async () => {
    plane = await startPolicyPlane({
      extraKeys: { person: { scopes: ['approvals:decide', 'governance:read'] } },
    });
    person = { baseUrl: plane.baseUrl, key: plane.keys['person'] ?? '' };
    plane.write('p/ask.policy', 'escalate "ask"\nwhen tool.name == "pay"');
    await plane.json('policy create p --publish');
    for (const run of ['r1', 'r2', 'r3']) {
      plane.write('call.json', {
        tool: { name: 'pay', server: 'bank' },
        arguments: { amount: 5, to: '客户\u001b[2J' },
        runId: run,
        actor: 'payer',
      });
      ids.push((await plane.json('tools evaluate call.json')).approvalId);
    }
  });
  afterAll(() => plane.end());
  const statusOf = async (id = ''): Promise<Record<string, unknown>> => plane.json(`approvals show ${id}`);

  it('gov approvals inbox into a pipe prints the pending ones, the longest waiting first', async () => {
    const { stdout } = await plane.gov('approvals inbox');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).runId),
    ).toEqual(['r1', 'r2', 'r3']);
  });

  it('gov approvals inbox approves and denies with a comment, and says so after the screen', async () => {
    const { terminal, code } = opened(person, 'approvals inbox', { columns: 120, rows: 30 });
    await terminal.shows('3 pending');
    terminal.press('a');
    await terminal.shows('approve, comment');
    for (const part of [
      'pay on bank',
      'payer, with key local operator (key_',
      'run      r1',
      'ask v1',
      'amount: 5',
      'waits',
    ])
      expect(terminal.text).toContain(part);
    terminal.press('called them');
    await terminal.shows('called them█');
    terminal.press('\r');
    await terminal.shows('y: yes, any other key: no');
    terminal.press('y');
    await terminal.shows(`✓ approved ${ids[0]}`);
    expect(await statusOf(ids[0])).toMatchObject({ status: 'approved', comment: 'called them' });
    await terminal.shows('2 pending');
    terminal.press('d');
    await terminal.shows('deny, comment');
    terminal.press('\r');
    await terminal.shows('y: yes, any other key: no');
    terminal.press('n');
    await terminal.shows('nothing was decided');
    expect(await statusOf(ids[1])).toMatchObject({ status: 'pending' });
    terminal.press('d');
    await terminal.shows('deny, comment');
    terminal.press('\r');
    await terminal.shows('y: yes, any other key: no');
    terminal.press('y');
    await terminal.shows(`✓ denied ${ids[1]}`);
    terminal.press('q');
    expect(await code).toBe(0);
    expect(terminal.buffer).toBe('normal');
    expect(terminal.text).toContain(`approved ${ids[0]}\ndenied ${ids[1]}`);
  });

  it('gov approvals inbox shows why the service refuses a decision', async () => {
    const { terminal, code } = opened(plane, 'approvals inbox', { columns: 60, rows: 12 });
    await terminal.shows('1 pending approval,');
    expect(terminal.text).not.toContain('esc back');
    terminal.press('?');
    await terminal.shows('? or esc closes the keys');
    expect(terminal.text).toMatch(/d +deny +pagedown, space page down\n/);
    terminal.press('?');
    // both keys in one chunk, as a slow terminal sends them
    terminal.press('j\r');
    await terminal.shows('lines more: down');
    terminal.press('G');
    await terminal.shows('evaluation pev_');
    expect(terminal.text).not.toContain('lines more');
    terminal.press('k');
    await terminal.shows('… 2 lines more: down');
    terminal.press('a');
    await terminal.shows('approve, comment');
    terminal.press('\r');
    await terminal.shows('y: yes, any other key: no');
    terminal.press('y');
    // at 60 columns the refusal takes several lines, and says what to do
    await terminal.shows('✗ Not allowed');
    expect(terminal.text.replaceAll(/\s+/g, ' ')).toContain("use an approver's key");
    expect(await statusOf(ids[2])).toMatchObject({ status: 'pending' });
    terminal.press('q');
    await code;
  });
});
