import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { retireKeys, rotateKeys } from '../../../../plane/keys/rotate.ts';
import { findLoss } from '../../../../src/cli/receipts/losses.ts';
import { limits } from '../../../../src/contract/limits.ts';
import { draftLoss } from '../../../../src/core/decided/loss.ts';
import { hashText } from '../../../../src/core/hash.ts';
import { entryBundle } from '../../../../src/core/merkle/tile-path.ts';
import { leafHash } from '../../../../src/core/merkle/tree.ts';
import {
  answeredReceipts,
  HeldSpool,
  recorded,
  RestoredPlane,
  sentEvent,
} from '../../../client/support/held.ts';
import { startRecordingProxy } from '../../../support/recording-proxy.ts';
import { startProxy } from '../../support/mcp.ts';
import { emptyDirectory, gov, govHere } from '../../support/tool.ts';

let plane: RestoredPlane;
let cwd: string;
beforeEach(async () => {
  now = Date.now;
  plane = await RestoredPlane.start();
  cwd = mkdtempSync(join(tmpdir(), 'gov-check-'));
  await run('trust', 'fetch', '-O', 'keys');
});
afterEach(async () => {
  await plane.end();
  rmSync(cwd, { recursive: true, force: true });
});

const settings = () => ({
  env: { GOV_CONFIG_DIR: emptyDirectory(), GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key },
  cwd,
});
let now = Date.now;
const run = (...argv: string[]) => govHere(argv, { ...settings(), now: now() });

async function check(...more: string[]): Promise<[number | null, Record<string, unknown>[]]> {
  const { code, stdout, stderr } = await run(
    'receipts',
    'check',
    '--spool=spool',
    '--trust',
    'keys',
    '-o',
    'json',
    ...more,
  );
  expect(stdout, stderr).not.toBe('');
  return [code, (JSON.parse(stdout) as { receipts: Record<string, unknown>[] }).receipts];
}

describe('gov receipts check', () => {
  it('kept receipts end with 0, also under a checkpoint of somebody else', async () => {
    const held = new HeldSpool(join(cwd, 'spool'));
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    held.close();
    expect(await check()).toMatchObject([0, [{ outcome: 'kept', lost: 0, evidence: null }]]);
    const { bytes } = await plane.client().getCheckpoint();
    writeFileSync(join(cwd, 'seen'), bytes);
    expect(await check('--checkpoint', 'seen')).toMatchObject([0, [{ outcome: 'kept' }]]);
  });

  it('where nothing is kept it says what it looked at, and that nothing was compared', async () => {
    new HeldSpool(join(cwd, 'spool')).close();
    expect(await check()).toEqual([9, []]);
    const named = ['receipts', 'check', '--spool=spool', '--trust', 'keys'];
    for (const argv of [named, [...named, '-o', 'table']]) {
      const { code, stderr, stdout } = await run(...argv);
      expect([code, stdout]).toEqual([9, '']);
      expect(stderr).toContain(`nothing was compared: ${join(cwd, 'spool')}: no receipt, and no signed tree`);
      expect(stderr).not.toContain('nothing found');
    }
  });

  it('a stored event that is not what the spool sent ends with 3', async () => {
    const held = new HeldSpool(join(cwd, 'spool'));
    const receipts = await recorded(plane.client(), [sentEvent(1)]);
    await held.acknowledge([{ ...sentEvent(1), action: 'another' }], receipts);
    held.close();
    const [code, [row]] = await check();
    expect([code, row]).toMatchObject([3, { outcome: 'content_differs' }]);
    expect(row?.['detail']).toMatch('action of event evt_');
  });

  it('a directory that an older copy replaced breaks receipts, and anybody verifies the evidence', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    const held = new HeldSpool(join(cwd, 'spool'));
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    held.close();
    await plane.restore();
    await recorded(
      plane.client(),
      [1, 2, 3, 4, 5, 6].map((n) => sentEvent(n, 'others')),
    );
    const [code, [row]] = await check();
    expect([code, row]).toMatchObject([3, { outcome: 'broken', lost: 1 }]);
    const file = String(row?.['evidence']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ kind: 'broken_receipt' });
    const verified = await run('evidence', 'verify', file, '--trust', 'keys', '-o', 'json');
    expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([
      0,
      { verified: true, shows: 'broken_receipt' },
    ]);
  });

  it('a log that gives no proof, and a receipt by another key, end with 10', async () => {
    const held = new HeldSpool(join(cwd, 'spool'));
    await held.acknowledge([sentEvent(1)], await recorded(plane.client(), [sentEvent(1)]));
    held.close();
    const other = await RestoredPlane.start();
    await recorded(other.client(), [sentEvent(1)]);
    const { bytes } = await other.client().getLogKey();
    await other.end();
    writeFileSync(
      join(cwd, 'stranger'),
      `log ${Buffer.from(bytes).toString().split('\n')[0]}\nquorum none\n`,
    );
    const { code, stdout } = await run(
      'receipts',
      'check',
      '--spool=spool',
      '--trust',
      'stranger',
      '-o',
      'json',
    );
    expect([code, JSON.parse(stdout).receipts]).toMatchObject([10, [{ outcome: 'refused' }]]);
  });

  it('keys that the log rotated are no broken promise: the next step is named, and both trust files together tell', async () => {
    const log = async (): Promise<string> => String((await plane.client().getLogKey()).body);
    const old = await log();
    (await hold(1)).close();
    await rotateKeys(plane.dataDir);
    (await hold(2)).close();
    // signed by old and new keys alike
    expect(await check()).toMatchObject([0, [{ outcome: 'kept' }, { outcome: 'kept' }]]);
    await retireKeys(plane.dataDir);
    (await hold(3)).close();
    const hint = expect.stringMatching(/rotated its keys.+gov trust fetch/);
    const refused = { outcome: 'refused', evidence: null, detail: hint };
    const older = await check();
    expect([older[0], new Set(older[1].map(({ outcome }) => outcome))]).toEqual([10, new Set(['refused'])]);
    expect(older[1][0]).toMatchObject(refused);
    await run('trust', 'fetch', '-O', 'keys', '--force');
    const [code, newer] = await check();
    expect([code, newer[0]]).toMatchObject([10, refused]);
    const both = new Set([...old.trim().split('\n'), ...(await log()).trim().split('\n')]);
    writeFileSync(join(cwd, 'keys'), `${[...both].map((key) => `log ${key}\n`).join('')}quorum none\n`);
    const kept = { outcome: 'kept' };
    expect(await check()).toMatchObject([0, [kept, kept, kept]]);
  });

  /** Holds the receipts that the answers to these events carried. */
  async function hold(...numbers: number[]): Promise<HeldSpool> {
    const held = new HeldSpool(join(cwd, 'spool'));
    for (const n of numbers)
      await held.acknowledge([sentEvent(n)], await answeredReceipts(plane.client(), [sentEvent(n)]));
    return held;
  }
  const seen = async (name: string): Promise<void> =>
    writeFileSync(join(cwd, name), (await plane.client().getCheckpoint()).bytes);

  it('a receipt of an answer is kept although the log had signed no checkpoint for it', async () => {
    (await hold(1, 2)).close();
    expect(await check()).toMatchObject([0, [{ outcome: 'kept' }, { outcome: 'kept' }]]);
  });

  it('a checkpoint of before the receipt leaves it pending for 60 s, ends with 8, and accuses nobody later', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await seen('older');
    (await hold(1)).close();
    expect(await check('--checkpoint', 'older')).toMatchObject([8, [{ outcome: 'pending', lost: 0 }]]);
    now = () => Date.now() + (limits.receiptSeconds + 2) * 1000;
    const [code, [row]] = await check('--checkpoint', 'older');
    expect([code, row]).toMatchObject([10, { outcome: 'refused', lost: 0, evidence: null }]);
    expect(row?.['detail']).toMatch(/did not sign the checkpoint at a stated time/);
  });

  it('a loss that the log names ends with 3 as lost_admitted, without a file of evidence', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    (await hold(1, 2)).close();
    await plane.restore({ isLossNamed: true });
    await recorded(
      plane.client(),
      [1, 2, 3].map((n) => sentEvent(n, 'others')),
    );
    const [code, rows] = await check();
    expect([code, rows]).toMatchObject([
      3,
      [
        { outcome: 'lost_admitted', lost: 1, evidence: null },
        { outcome: 'lost_admitted', lost: 1, evidence: null },
      ],
    ]);
    expect(rows[0]?.['detail']).toMatch(/^leaf \d+ of the log says so$/);
    expect(readdirSync(cwd).filter((name) => name.endsWith('.govevidence.json'))).toEqual([]);
  });

  it('a tree that contradicts one that this machine has verified is a split view, with evidence', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    await recorded(plane.client(), [sentEvent(1)]);
    const { env } = settings();
    const here = (...argv: string[]) => govHere(argv, { env: { ...env, GOV_BASE_URL: plane.baseUrl }, cwd });
    await run('proofs', 'create', '--run', 'held', '--out', 'seen.govproof.json');
    expect((await here('proofs', 'verify', 'seen.govproof.json', '--trust', 'keys')).code).toBe(0);
    await plane.restore();
    // the same number of leaves as in the proof
    const held = new HeldSpool(join(cwd, 'spool'));
    for (const n of [1, 2, 3, 4, 5, 6]) {
      const event = [sentEvent(n, 'others')];
      await held.acknowledge(event, await recorded(plane.client(), event));
    }
    held.close();
    expect((await here('proofs', 'create', '--run', 'others', '--out', 'a.govproof.json')).code).toBe(0);
    const argv = ['receipts', 'check', '--spool=spool', '--trust', 'keys', '-o', 'json'];
    const { code, stdout } = await here(...argv, '--bundle', 'a.govproof.json');
    const { receipts } = JSON.parse(stdout) as { receipts: Record<string, unknown>[] };
    expect([code, receipts[0]]).toMatchObject([3, { outcome: 'broken', first: null }]);
    const file = String(receipts[0]?.['evidence']);
    const verified = await here('evidence', 'verify', file, '--trust', 'keys', '-o', 'json');
    expect(JSON.parse(verified.stdout)).toMatchObject({ verified: true, shows: 'split_view' });
  });

  it('a loss that was named before the receipt, or for a time to come, excuses nothing', async () => {
    const received = Date.now();
    const record = (at: number): string =>
      draftLoss(
        { from: 0, lost: 2 ** 40, acked: { size: 2 ** 40, root: hashText(Buffer.alloc(32)), at: 'now' } },
        at,
      ).record;
    const skewMs = limits.receiptSeconds * 1000;
    const cases: [atMs: number, index: number | null][] = [
      [received, 1],
      [received - skewMs, 1],
      [received - skewMs - 1, null],
      [received + skewMs, 1],
      [received + skewMs + 1, null],
    ];
    for (const [at, expected] of cases) {
      const records = ['{"type":"gov.genesis/1"}', record(at)];
      const leaves = records.map((each) => leafHash(each));
      const log = { size: 2, leaf: async (index: number) => ({ leaf: leaves[index] }) };
      const client = { getTile: async () => ({ bytes: entryBundle(records) }) };
      const asked = { client, signal: new AbortController().signal, ackedMs: received, now: received };
      expect([at, await findLoss([1], log as never, asked as never)]).toEqual([at, expected]);
    }
  });

  it('--bundle compares with the checkpoint of a proof, and not together with --checkpoint', async () => {
    (await hold(1)).close();
    const created = await run('proofs', 'create', '--run', 'held', '--out', 'held.govproof.json');
    expect(created.code, created.stderr).toBe(0);
    await seen('seen');
    expect(await check('--bundle', 'held.govproof.json')).toMatchObject([0, [{ outcome: 'kept' }]]);
    const both = ['--bundle', 'held.govproof.json', '--checkpoint', 'seen'];
    expect((await run('receipts', 'check', '--spool=spool', '--trust', 'keys', ...both)).code).toBe(2);
    writeFileSync(join(cwd, 'nothing'), 'no checkpoint\n');
    const bad = await run('receipts', 'check', '--spool=spool', '--trust', 'keys', '--checkpoint', 'nothing');
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('nothing: ')]);
  });

  it('a tree in kept.json that the log later contradicts is a split view, which anybody verifies', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    const held = await hold(1);
    await held.keeper(plane.client()).close();
    expect(held.spool.held()).toEqual([]);
    await plane.restore();
    await recorded(
      plane.client(),
      [1, 2, 3, 4, 5, 6].map((n) => sentEvent(n, 'others')),
    );
    held.close();
    const [code, rows] = await check();
    expect([code, rows]).toMatchObject([3, [{ outcome: 'broken', first: null, lost: 0 }]]);
    const verified = await run(
      'evidence',
      'verify',
      String(rows[0]?.['evidence']),
      '--trust',
      'keys',
      '-o',
      'json',
    );
    expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([
      0,
      { verified: true, shows: 'split_view' },
    ]);
    // the client finds it too, and the contradicted tree stays for the command
    const again = await hold(9);
    await again.keeper(plane.client()).close();
    expect(again.found).toContainEqual({ kind: 'contradicted' });
    again.close();
    expect(await check()).toMatchObject([3, [{ outcome: 'broken' }]]);
  });

  it('gov run, hooks and the MCP proxy keep receipts, which the command checks without a spool', async () => {
    await recorded(plane.client(), [sentEvent(0, 'before')]);
    await plane.save();
    const { env } = settings();
    const state = { ...env, XDG_STATE_HOME: cwd };
    expect((await gov(['run', '--', 'true'], { env: state, cwd })).code).toBe(0);
    const config = join(env.GOV_CONFIG_DIR, 'agents.json');
    const keyFile = join(plane.dataDir, 'local.key');
    writeFileSync(config, JSON.stringify({ baseUrl: plane.baseUrl, keyFile }));
    const input = JSON.stringify({
      session_id: 'session-1',
      hook_event_name: 'PreToolUse',
      cwd: '/work',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: 'toolu_1',
    });
    const hooked = await gov(['hook', 'claude-code', '--config', config], { env: state, cwd, input });
    expect(hooked).toMatchObject({ code: 0, stdout: '{}\n', stderr: '' });
    const proxy = startProxy({ env: state, flags: ['--name', 'bank', '--run', 'proxied'] });
    onTestFinished(() => void proxy.child.kill('SIGKILL'));
    await proxy.ask(0, 'initialize', {
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'a', version: '1' },
    });
    await proxy.ask('list', 'tools/list');
    await proxy.call(1, 'pay', { amount: 5 });
    await proxy.end();
    const checkAll = async (): Promise<[number | null, string[]]> => {
      const { code, stdout, stderr } = await govHere(['receipts', 'check', '--trust', 'keys', '-o', 'json'], {
        env: { ...state, GOV_BASE_URL: plane.baseUrl },
        cwd,
        now: now(),
      });
      expect(stdout, stderr).not.toBe('');
      const { receipts } = JSON.parse(stdout) as { receipts: { outcome: string }[] };
      return [code, receipts.map(({ outcome }) => outcome)];
    };
    const [code, outcomes] = await checkAll();
    // a start and an end, a call, and of the proxy a definition, a call and its result
    expect([code, new Set(outcomes)]).toEqual([0, new Set(['kept'])]);
    expect(outcomes.length).toBeGreaterThanOrEqual(5);
    await plane.restore();
    const others = Array.from({ length: 30 }, (_, n) => sentEvent(n, 'others'));
    await recorded(plane.client(), others);
    const [after, lost] = await checkAll();
    expect([after, new Set(lost)]).toEqual([3, new Set(['broken'])]);
  });

  it('one check asks once for the newest tree', async () => {
    (await hold(1, 2, 3)).close();
    const proxy = await startRecordingProxy();
    onTestFinished(() => proxy.close());
    const { port, pathname } = new URL(plane.baseUrl);
    proxy.port = Number(port);
    const env = { ...settings().env, GOV_BASE_URL: `${proxy.origin}${pathname}` };
    const { code } = await govHere(['receipts', 'check', '--spool=spool', '--trust', 'keys'], { env, cwd });
    expect(code).toBe(0);
    const heads = proxy.requests().filter(({ path }) => path.endsWith('/log/checkpoint'));
    // again after the log has signed a tree that covers the receipts
    expect(heads.length).toBeLessThanOrEqual(2);
  });

  it('a terminal of 72 columns shows a table, and under it each reason and each path of evidence whole', async () => {
    await plane.save();
    (await hold(1)).close();
    await plane.restore();
    const others = [1, 2, 3, 4, 5, 6].map((n) => sentEvent(n, 'others'));
    await recorded(plane.client(), others);
    (await hold(2)).close();
    const { stdout } = await govHere(['receipts', 'check', '--spool=spool', '--trust', 'keys'], {
      ...settings(),
      now: now(),
      columns: 72,
    });
    const [head, broken, kept, reason, evidence] = stripVTControlCharacters(stdout).split('\n');
    expect(head).toMatch(/^OUTCOME +FIRST +LAST +SIGNED AT +LOST$/);
    expect([broken, kept]).toEqual([
      expect.stringMatching(/^broken +(\d+) +\1 +now +1$/),
      expect.stringMatching(/^kept +(\d+) +\1 +now +0$/),
    ]);
    expect(reason).toMatch(/^broken, leaf \d+: the log acknowledged leaf .* has another leaf in this place$/);
    expect(readdirSync(cwd)).toContain(
      basename(/^ {2}evidence: (\/.*\.govevidence\.json)$/.exec(evidence ?? '')?.[1] ?? ''),
    );
  });

  it('without a spool and without a trusted key the command ends with 2', async () => {
    expect((await run('receipts', 'check', '--spool=nowhere', '--trust', 'keys')).code).toBe(2);
    expect((await run('receipts', 'check', '--spool=spool')).code).toBe(2);
  });
});
