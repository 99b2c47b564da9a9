import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleBalance } from '../../../core/balance/sample.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
});
afterAll(() => plane.end());

const said = (sessionId: string, uuid: string, message: object) =>
  JSON.stringify({
    type: 'assistant' in message ? 'assistant' : String((message as { role: string }).role),
    sessionId,
    uuid,
    timestamp: '2026-01-05T09:00:00Z',
    message,
  });
const session = (sessionId: string, block: object) =>
  [
    said(sessionId, 'u1', { role: 'user', content: 'Pay' }),
    said(sessionId, 'u2', { id: 'm1', role: 'assistant', model: 'm', content: [block] }),
    said(sessionId, 'u3', {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't1', content: 'paid' }],
    }),
  ].join('\n');
const call = { type: 'tool_use', id: 't1', name: 'pay', input: {} };
/** The shape of a call, of a type that no importer knows. */
const strange = { ...call, type: 'quantum_use' };

describe('runs balance', () => {
  it('a file that was read whole balances, and runs balance shows its sums', async () => {
    plane.write('whole.jsonl', session('whole', call));
    expect((await plane.gov('events push --from auto whole.jsonl')).code).toBe(0);
    const { code, stdout } = await plane.gov('runs balance whole', { columns: 140 });
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('recordings balanced: 1 of 1 file, nothing left out, by the word of key_'),
    ]);
    expect(stdout).toMatch(/whole\.jsonl +calls +1 +0 +1 +0 +0 +0 +0 +0/);
    const piped = await plane.gov('runs balance whole -o json');
    expect(JSON.parse(piped.stdout)).toMatchObject({
      runId: 'whole',
      balanced: true,
      files: [
        { source: { name: 'whole.jsonl' }, found: { calls: 1, results: 1, prompts: 1 }, here: { calls: 1 } },
      ],
    });
  });

  it('a call that no importer knows refuses its file with 9, and --allow-remainder states it', async () => {
    plane.write('strange.jsonl', session('strange', strange));
    const refused = await plane.gov('events push --from auto strange.jsonl');
    expect(refused.code).toBe(9);
    expect(refused.stderr).toContain('unbalanced: line 2 /message/content/0: a call (t1)');
    expect((await plane.gov('runs balance strange')).code).toBe(5);
    const allowed = await plane.gov('events push --from auto strange.jsonl --allow-remainder');
    expect(allowed.code).toBe(0);
    expect(allowed.stderr).toContain('strange.jsonl: left out 1 part');
    const { code, stdout } = await plane.gov('runs balance strange', { columns: 140 });
    expect(code).toBe(3);
    expect(stdout).toContain('recordings balanced: 0 of 1 file; left out: 1 part with 1 call');
    expect(stdout).toContain('strange.jsonl: left out: line 2 /message/content/0');
  });

  it('a file of which the importer understands too little is refused with 9, and says what it looks like', async () => {
    plane.write('foreign.jsonl', session('foreign', { type: 'quantum', blob: 'x'.repeat(500) }));
    const refused = await plane.gov('events push --from auto foreign.jsonl');
    expect(refused.code).toBe(9);
    expect(refused.stderr).toMatch(
      /claude-code understands \d+(?:\.\d)? % of the content, at least 95 % are needed/,
    );
    expect(refused.stderr).toContain('this looks like a recording of another program or version');
    expect((await plane.gov('runs balance foreign')).code).toBe(5);
    expect((await plane.gov('events push --from auto foreign.jsonl --allow-remainder')).code).toBe(0);
  });

  it('a recording without a balance, and one of which nothing was compared, are not balanced', async () => {
    const body = {
      runId: 'bare',
      eventType: 'tool.call',
      actor: { name: 'a' },
      action: 'call',
      resource: { name: 'pay', type: 'tool' },
      timestamp: '2026-01-05T09:00:00Z',
      metadata: { toolCallId: 'c1', timestampSource: 'source' },
    };
    await plane.call('POST', '/events', { body });
    const bare = await plane.gov('runs balance bare -o json');
    expect([bare.code, JSON.parse(bare.stdout)]).toMatchObject([
      9,
      { balanced: null, code: 'RECORDING_WITHOUT_BALANCE', files: [] },
    ]);
    expect((await plane.gov('runs balance bare', { columns: 140 })).stdout).toContain(
      'a recording has no balance',
    );
    const empty = { ...sampleBalance, found: {}, recorded: {}, here: {} };
    await plane.call('POST', '/events', {
      body: { ...body, runId: 'empty', eventType: 'gov.balance/1', metadata: empty },
    });
    const nothing = await plane.gov('runs balance empty -o json');
    expect([nothing.code, JSON.parse(nothing.stdout)]).toMatchObject([
      9,
      { balanced: null, code: 'RECORDING_NOT_COUNTED' },
    ]);
    expect((await plane.gov('runs balance empty', { columns: 140 })).stdout).toMatch(
      /the scanner finds no call.*\n.*gov proofs create --run empty.*--recording/,
    );
    await plane.call('POST', '/events', { body: { ...body, runId: 'direct', metadata: {} } });
    const direct = await plane.gov('runs balance direct -o json');
    expect([direct.code, JSON.parse(direct.stdout)]).toMatchObject([
      0,
      { balanced: null, code: 'NO_RECORDING' },
    ]);
  });

  it('a file that has grown has its newest balance', async () => {
    const grown = `${session('grown', call)}\n`;
    plane.write('grown.jsonl', grown);
    await plane.gov('events push --from auto grown.jsonl');
    plane.write('grown.jsonl', grown + said('grown', 'u4', { role: 'user', content: 'Again' }));
    await plane.gov('events push --from auto grown.jsonl');
    const { files } = await plane.json('runs balance grown');
    expect(files).toMatchObject([{ found: { prompts: 2 }, recorded: { prompts: 2 } }]);
  });

  it('--recording reads a file in the format that a flag named, which its content does not show', async () => {
    plane.write(
      'steps.json',
      JSON.stringify([
        { role: 'user', content: 'Fix' },
        { role: 'assistant', content: 'ls' },
      ]),
    );
    expect((await plane.gov('events push --from swe-agent --run steps steps.json')).code).toBe(0);
    const same = await plane.gov('runs balance steps --recording steps.json');
    expect([same.code, same.stderr]).toEqual([
      0,
      expect.stringContaining('every sum is that of its balance'),
    ]);
  });

  it('--recording counts the raw file again, and refuses another file and a forged balance', async () => {
    plane.write('raw.jsonl', session('raw', call));
    await plane.gov('events push --from auto raw.jsonl');
    const same = await plane.gov('runs balance raw --recording raw.jsonl');
    expect([same.code, same.stderr]).toEqual([
      0,
      expect.stringContaining('every sum is that of its balance'),
    ]);
    plane.write('longer.jsonl', `${session('raw', call)}\n`);
    const longer = await plane.gov('runs balance raw --recording longer.jsonl');
    expect([longer.code, longer.stderr]).toEqual([3, expect.stringContaining('1 bytes came after it')]);
    plane.write('other.jsonl', `\n${session('raw', call)}`);
    const other = await plane.gov('runs balance raw --recording other.jsonl');
    expect([other.code, other.stderr]).toEqual([
      3,
      expect.stringContaining('no balance of the run is of this file'),
    ]);
    const { files } = await plane.json('runs balance raw');
    const { 'gov.statedBy': honest, ...balance } = files[0];
    expect(honest).toMatch(/^key_/);
    const forged = {
      ...balance,
      found: { calls: 2, results: 1, prompts: 1 },
      recorded: { calls: 2, results: 1, prompts: 1 },
    };
    await plane.call('POST', '/events', {
      body: {
        runId: 'raw',
        eventType: 'gov.balance/1',
        actor: { name: 'a' },
        action: 'balance',
        timestamp: '2026-01-05T09:00:00Z',
        metadata: forged,
      },
    });
    expect((await plane.gov('runs balance raw')).code).toBe(0);
    const found = await plane.gov('runs balance raw --recording raw.jsonl');
    expect([found.code, found.stderr]).toEqual([
      3,
      expect.stringContaining('found calls: 2 in the log, 1 in the file'),
    ]);
    expect((await plane.gov('runs balance raw --recording nothing.jsonl')).code).toBe(2);
  });

  it('a run without recordings has no balance, and that is not a failure', async () => {
    await plane.call('POST', '/events', {
      body: {
        runId: 'live',
        eventType: 'note',
        actor: { name: 'a' },
        action: 'note',
        timestamp: '2026-01-05T09:00:00Z',
        // a client may write what it likes, and it is no balance
        metadata: { found: { calls: 'many' } },
      },
    });
    const { code, stdout } = await plane.gov('runs balance live', { columns: 120 });
    expect([code, stdout]).toEqual([0, expect.stringContaining('no recording in this run')]);
  });
});
