/** The sealed approver key of a plane of this machine, at a real terminal. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { offeredPhrase } from '../../../src/cli/approvals/phrase.ts';
import { words } from '../../../src/cli/approvals/words.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { govAtTerminal, noTerminal, type TerminalResult } from '../support/pty.ts';
import { gov, type Result } from '../support/tool.ts';

/** As short as a phrase may be. */
const phrase = 'ten seas low';

describe('an offered phrase', () => {
  it('is four words of a list of 2,048', () => {
    expect([words.length, new Set(words).size]).toEqual([2048, 2048]);
    const offered = Array.from({ length: 50 }, offeredPhrase);
    expect(new Set(offered).size).toBe(50);
    for (const each of offered) {
      const of = each.split('-');
      expect([of.length, of.filter((word) => words.includes(word)).length]).toEqual([4, 4]);
    }
  });
});

describe.skipIf(noTerminal)('the approver of a plane of this machine', () => {
  let plane: PolicyPlane;
  let env: Record<string, string>;
  beforeAll(async () => {
    plane = await startPolicyPlane({
      presence: 'signed',
      extraKeys: { person: { scopes: ['approvals:decide'] } },
    });
    plane.write('p/ask.policy', 'escalate "ask" high\nwhen has(tool) && tool.name == "pay"');
    await plane.json('policy create p --publish');
    plane.write('config/config.json', {
      currentContext: 'here',
      contexts: { here: { kind: 'plane', dataDir: plane.dataDir } },
    });
    env = { GOV_CONFIG_DIR: join(plane.folder, 'config') };
  });
  afterAll(() => plane.end());

  const sealed = () => join(plane.dataDir, 'approver.sealed');
  const asked = async (runId: string, key = plane.key): Promise<string> => {
    const body = { tool: { name: 'pay' }, arguments: {}, runId };
    return (await plane.call('POST', '/mcp/tools/evaluate', { key, body })).body.approvalId;
  };
  const agentKey = () => readFileSync(join(plane.dataDir, 'agent.key'), 'utf8').trim();
  const typed = (argv: string, ...answers: (readonly [string, string])[]): Promise<TerminalResult> =>
    govAtTerminal(argv.split(' '), { answers, env, cwd: plane.folder });
  const piped = (argv: string): Promise<Result> => gov(argv.split(' '), { env, cwd: plane.folder });

  it('without a terminal gov says what to do, and makes nothing', async () => {
    const { code, stderr } = await piped(`approvals approve ${await asked('s0')}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining('expected a terminal')]);
    expect(stderr).toContain('gov approvers add');
    expect(existsSync(sealed())).toBe(false);
  });

  it('the first approval asks for a new phrase, and enrols a key that only the phrase opens', async () => {
    const approvalId = await asked('s1');
    const { code, text } = await typed(
      `approvals approve ${approvalId}`,
      ['Choose a phrase (Enter: ', phrase.slice(1)],
      ['Choose a phrase (Enter: ', phrase],
      ['Once more: ', 'another one here'],
      ['Choose a phrase (Enter: ', phrase],
      ['Once more: ', phrase],
    );
    expect([code, text]).toEqual([0, expect.stringContaining('approved')]);
    expect(text).toContain('expected 12 characters or more, got 11');
    expect(text).toContain('was asked for before this key was enrolled');
    expect(text).not.toContain(phrase);
    expect((statSync(sealed()).mode & 0o777).toString(8)).toBe('600');
    const { format, kdf, ...file } = JSON.parse(readFileSync(sealed(), 'utf8'));
    expect([format, kdf]).toMatchObject(['gov.sealedkey/1', { name: 'scrypt', N: 131072, r: 8, p: 1 }]);
    expect(Object.keys(file)).toEqual(['publicKey', 'iv', 'box', 'token']);
    const { data } = await plane.json('approvers list');
    expect(data).toMatchObject([{ kind: 'ssh', name: 'sealed key', status: 'active' }]);
  });

  it('later approvals ask for the phrase, and are signed', async () => {
    const approvalId = await asked('s2', agentKey());
    const { code, text } = await typed(`approvals approve ${approvalId}`, [
      'Phrase of the approver: ',
      phrase.replaceAll(' ', '-'),
    ]);
    expect([code, text]).toEqual([0, expect.stringContaining('signed by sealed key with SSH key')]);
    const { data } = await plane.json('approvers list');
    const shown = await plane.json(`approvals show ${approvalId}`);
    expect(shown.signature.approverId).toBe(data[0].approverId);
    expect((await plane.json('tools evaluate --tool pay --run s2')).allowed).toBe(false);
  });

  it('a wrong phrase is named, and decides nothing', async () => {
    const approvalId = await asked('s3');
    const wrong = ['Phrase of the approver: ', 'ten seas high'] as const;
    const { code, text } = await typed(`approvals approve ${approvalId}`, wrong, wrong, wrong);
    expect([code, text]).toEqual([4, expect.stringContaining('this is not the phrase')]);
    expect((await plane.json(`approvals show ${approvalId}`)).status).toBe('pending');
  });

  it('gov approvals inbox asks for the phrase at the terminal, signs, and shows the screen again', async () => {
    // the screen shows the longest waiting one first
    for (const { approvalId: earlier } of (await plane.json('approvals list --status pending')).data) {
      const denial = { key: plane.keys['person'] ?? null, body: { outcome: 'denied' } };
      expect((await plane.call('POST', `/approvals/${earlier}/decision`, denial)).status).toBe(200);
    }
    const approvalId = await asked('s6', agentKey());
    const screen = await govAtTerminal(['approvals', 'inbox'], {
      answers: [
        ['s6', 'a'],
        ['comment:', '\r'],
        ['y: yes', 'y'],
        ['Phrase of the approver: ', `${phrase}\r`],
        ['nobody waits', 'q'],
      ],
      areKeys: true,
      env: { ...env, TERM: 'xterm-256color' },
      cwd: plane.folder,
    });
    expect([screen.code, screen.text.includes(phrase)]).toEqual([0, false]);
    const shown = await plane.json(`approvals show ${approvalId}`);
    expect([shown.status, shown.signature?.name]).toEqual(['approved', 'sealed key']);
  });

  it('a denial of what an agent asked for needs no phrase', async () => {
    const { code, stdout } = await piped(`approvals deny ${await asked('s4', agentKey())} -o json`);
    expect([code, JSON.parse(stdout).status]).toEqual([0, 'denied']);
  });

  it('a damaged file is named with its member', async () => {
    const before = readFileSync(sealed(), 'utf8');
    writeFileSync(sealed(), before.replace('131072', '2'));
    const { code, stderr } = await piped(`approvals approve ${await asked('s5')}`);
    writeFileSync(sealed(), before);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('approver.sealed: kdf: expected scrypt with N 131072'),
    ]);
  });

  it('a change that loosens the plane asks for the phrase, and shows what is signed', async () => {
    const line = 'policy transition ask --to disabled --yes';
    const refused = await piped(line);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('expected a terminal')]);
    const { code, text } = await typed(line, ['Phrase of the approver: ', phrase]);
    expect([code, text]).toEqual([0, expect.stringContaining('to end policy ask')]);
    expect(text).toContain('POST /governance/policies/ask/transition {"targetStatus":"disabled"}');
    const { events } = await plane.json('events list --run gov.system --type change.signed');
    expect(events).toHaveLength(1);
  });

  it('an SSH key signs a change where the plane has no sealed key, after its person said yes', async () => {
    const fresh = await startPolicyPlane({ presence: 'signed' });
    fresh.write('p/ask.policy', 'deny "ask" high\nwhen has(tool) && tool.name == "pay"');
    await fresh.json('policy create p --publish');
    fresh.write('config/config.json', {
      currentContext: 'here',
      contexts: { here: { kind: 'plane', dataDir: fresh.dataDir } },
    });
    const place = {
      env: { GOV_CONFIG_DIR: join(fresh.folder, 'config'), HOME: fresh.folder },
      cwd: fresh.folder,
    };
    mkdirSync(join(fresh.folder, '.ssh'));
    const file = join(fresh.folder, '.ssh/id_ed25519');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ada', '-f', file]);
    const change = ['policy', 'transition', 'ask', '--to', 'disabled', '--yes'];
    const added = await gov(['approvers', 'add', 'Ada', '--ssh-key', file], place);
    expect(added.code).toBe(0);
    const unattended = await gov(change, place);
    expect([unattended.code, unattended.stderr]).toEqual([2, expect.stringContaining('expected a terminal')]);
    const at = (answer: string) =>
      govAtTerminal(change, { answers: [['(yes or no; it does not show): ', answer]], ...place });
    expect((await at('no')).code).toBe(4);
    const { code, text } = await at('yes');
    expect([code, text]).toEqual([0, expect.stringContaining('Sign it with Ada, SHA256:')]);
    await fresh.end();
  });

  it('gov approvers seal makes no second key', async () => {
    expect((await piped('approvers seal')).code).toBe(2);
  });

  it('gov agents install asks for the phrase of a plane without an approver, before an agent asks', async () => {
    const fresh = await startPolicyPlane({ presence: 'signed' });
    fresh.write('config/config.json', {
      currentContext: 'here',
      contexts: { here: { kind: 'plane', dataDir: fresh.dataDir } },
    });
    const place = {
      env: { GOV_CONFIG_DIR: join(fresh.folder, 'config'), HOME: fresh.folder },
      cwd: fresh.folder,
    };
    const argv = ['agents', 'install', 'claude-code', '--scope', 'user'];
    const refused = await gov(argv, place);
    expect([refused.code, refused.stderr]).toEqual([0, expect.stringContaining('gov approvers seal')]);
    const answers = [['Choose a phrase (Enter: ', '']] as const;
    const { code, text } = await govAtTerminal(argv, { answers, ...place });
    expect([code, text]).toEqual([0, expect.stringContaining('enrolled apv_')]);
    expect((await gov(argv, place)).stderr).not.toContain('approvers seal');
    await fresh.end();
  });

  it('gov approvers seal seals the approver.key of an older release, which then is gone', async () => {
    const older = await startPolicyPlane();
    const scopes = ['governance:read', 'approvals:decide', 'events:read'];
    const made = (await older.call('POST', '/api-keys', { body: { name: 'approver', scopes } })).body;
    const plain = join(older.dataDir, 'approver.key');
    writeFileSync(plain, `${made.key}\n`, { mode: 0o600 });
    older.write('config/config.json', { contexts: { here: { kind: 'plane', dataDir: older.dataDir } } });
    const { code, text } = await govAtTerminal(['approvers', 'seal', '-C', 'here'], {
      answers: [['Choose a phrase (Enter: ', '']],
      env: { GOV_CONFIG_DIR: join(older.folder, 'config') },
      cwd: older.folder,
    });
    expect([code, text]).toEqual([0, expect.stringContaining(`for ${made.record.keyId}`)]);
    expect([existsSync(plain), existsSync(join(older.dataDir, 'approver.sealed'))]).toEqual([false, true]);
    await older.end();
  });
});
