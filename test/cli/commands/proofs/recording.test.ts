import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balanceOfBytes } from '../../../../src/core/intake/balance-file.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
  expect((await plane.gov('trust fetch --out trust')).code).toBe(0);
});
afterAll(() => plane.end());

const line = (
  sessionId: string,
  uuid: string,
  message: { role: string; content: unknown; id?: string; model?: string },
) =>
  `${JSON.stringify({ type: message.role, sessionId, uuid, timestamp: '2026-01-05T09:00:00Z', message })}\n`;
const session = (sessionId: string, amount = 10) =>
  line(sessionId, 'u1', { role: 'user', content: 'Pay the bill' }) +
  line(sessionId, 'u2', {
    id: 'm1',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'tool_use', id: 't1', name: 'pay', input: { amount } }],
  }) +
  line(sessionId, 'u3', {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't1', content: 'paid' }],
  });

/** Writes the bundle of a new proof of the run into `RUN.govproof.json`. */
async function prove(run: string, events = 'disclosed'): Promise<void> {
  const { proofId } = await plane.json(`proofs create --run ${run} --layers event_integrity`);
  rmSync(join(plane.folder, `${run}.govproof.json`), { force: true });
  const got = await plane.gov(`proofs get ${proofId} --events ${events} --out ${run}.govproof.json`);
  expect([got.code, got.stderr]).toEqual([0, expect.anything()]);
}

async function verify(run: string, ...files: string[]) {
  const recordings = files.map((file) => `--recording ${file}`).join(' ');
  const shown = await plane.gov(
    `proofs verify ${run}.govproof.json --trust trust --no-remember ${recordings} -o json`,
  );
  const verdict = JSON.parse(shown.stdout);
  const checks = verdict.checks.filter(({ id }: { id: string }) => id === 'recording');
  return { exit: shown.code, code: verdict.code, checks };
}

/** Posts events as an importer that lies would. */
async function post(runId: string, events: readonly object[]): Promise<void> {
  for (const event of events) await plane.call('POST', '/events', { body: { ...event, runId } });
}
const importer = { actor: { name: 'gov', role: 'importer' }, action: 'balance' };
const balanceEvent = (metadata: object) => ({
  ...importer,
  eventType: 'gov.balance/1',
  timestamp: '2026-01-05T09:00:00Z',
  metadata,
});

describe('proofs verify --recording', () => {
  it('the file that was recorded passes, and its facts are those of the proof', async () => {
    plane.write('whole.jsonl', session('whole'));
    await plane.gov('events push --from auto whole.jsonl');
    await prove('whole');
    const { exit, code, checks } = await verify('whole', 'whole.jsonl');
    expect([exit, code]).toEqual([0, null]);
    expect(checks).toEqual([
      { id: 'recording', result: 'passed', detail: expect.stringMatching(/^whole\.jsonl: it is the file/) },
    ]);
    expect(checks[0].detail).toContain(
      '1 of 1 file, nothing left out; the proof has what the file gives: 1 call, 1 result, 1 prompt',
    );
    const seen = await plane.gov(
      'proofs verify whole.govproof.json --trust trust --no-remember --recording whole.jsonl',
      { columns: 200 },
    );
    expect(seen.stdout).toMatch(/✓ recording +whole\.jsonl: it is the file that was recorded/);
  });

  it('another file, and one that has grown, are said to be so, with exit 3', async () => {
    plane.write('other.jsonl', session('whole', 11));
    plane.write('grown.jsonl', session('whole') + line('whole', 'u4', { role: 'user', content: 'Again' }));
    const { exit, code, checks } = await verify('whole', 'whole.jsonl', 'other.jsonl', 'grown.jsonl');
    expect([exit, code]).toEqual([3, 'RECORDING_UNKNOWN']);
    const results = checks.map((check: { result: string; code?: string }) => [check.result, check.code]);
    expect(results).toEqual([
      ['passed', undefined],
      ['failed', 'RECORDING_UNKNOWN'],
      ['failed', 'RECORDING_GREW'],
    ]);
    expect(checks[1].detail).toContain('other.jsonl: no balance of the run is of this file (SHA-256 ');
    const bytes = session('whole').length;
    expect(checks[2].detail).toContain(`its first ${bytes} bytes are the file that was recorded; `);
  });

  it('a balance with other counts than the file has is found', async () => {
    plane.write('forged.jsonl', session('forged'));
    await plane.gov('events push --from auto forged.jsonl');
    const { balance } = balanceOfBytes('forged.jsonl', Buffer.from(session('forged')));
    await post('forged', [balanceEvent({ ...balance, found: { ...balance.found, calls: 2 } })]);
    await prove('forged');
    const { exit, code, checks } = await verify('forged', 'forged.jsonl');
    expect([exit, code]).toEqual([3, 'BALANCE_DIFFERS']);
    expect(checks[0].detail).toContain('found calls: 2 in the log, 1 in the file');
  });

  it('an event with other arguments than the file, and one that is not in the log, are found', async () => {
    const bytes = Buffer.from(session('changed'));
    const { balance, runs } = balanceOfBytes('changed.jsonl', bytes);
    const events = runs.flatMap((run) => run.events);
    plane.write('changed.jsonl', session('changed'));
    const altered = events.map((event) =>
      event.eventType === 'tool.call'
        ? { ...event, metadata: { ...event.metadata, arguments: { amount: 1 } } }
        : event,
    );
    await post('changed', [...altered, balanceEvent({ ...balance })]);
    await prove('changed');
    const changed = await verify('changed', 'changed.jsonl');
    expect([changed.exit, changed.code]).toEqual([3, 'RECORDING_DIFFERS']);
    expect(changed.checks[0].detail).toContain('its arguments in the proof are other ones than in the file');
    plane.write('lost.jsonl', session('lost'));
    const lost = balanceOfBytes('lost.jsonl', Buffer.from(session('lost')));
    const kept = lost.runs.flatMap((run) => run.events).filter(({ eventType }) => eventType !== 'tool.call');
    const free = kept.map((event) => ({ ...event, causedBy: [] }));
    await post('lost', [...free, balanceEvent({ ...lost.balance })]);
    await prove('lost');
    const { exit, code, checks } = await verify('lost', 'lost.jsonl');
    expect([exit, code]).toEqual([3, 'RECORDING_DIFFERS']);
    expect(checks[0].detail).toMatch(/tool\.call \(.*\): the proof has no event of it/);
  });

  it('a proof without the content of its events cannot be compared, and is not verified', async () => {
    await prove('whole', 'records');
    const { exit, code } = await verify('whole', 'whole.jsonl');
    expect([exit, code]).toEqual([3, 'RECORDING_NOT_SHOWN']);
    await prove('whole', 'none');
    expect((await verify('whole', 'whole.jsonl')).code).toBe('RECORDING_NOT_SHOWN');
  });

  it('a run that was recorded under another name, or without a balance, is compared as such', async () => {
    plane.write('named.jsonl', session('named'));
    await plane.gov('events push --from auto named.jsonl --run renamed');
    await prove('renamed');
    expect(await verify('renamed', 'named.jsonl')).toMatchObject({ exit: 0, code: null });
    await post('live', [{ ...balanceEvent({}), eventType: 'note' }]);
    await prove('live');
    const { code, checks } = await verify('live', 'named.jsonl');
    expect([code, checks[0].detail]).toEqual([
      'RECORDING_UNKNOWN',
      'named.jsonl: no recording of the run has a balance',
    ]);
  });

  it('a file that cannot be read, and a proof id, are usage errors', async () => {
    const missing = await plane.gov('proofs verify whole.govproof.json --trust trust --recording no.jsonl');
    expect(missing.code).toBe(2);
    const { proofId } = await plane.json('proofs create --run whole');
    const byId = await plane.gov(`proofs verify ${proofId} --recording whole.jsonl`);
    expect([byId.code, byId.stderr]).toEqual([2, expect.stringContaining('expected a bundle with events')]);
  });
});

describe('the layer x-recordings of a proof', () => {
  const layerOf = async (run: string, events = 'disclosed') => {
    const made = await plane.gov(`proofs create --run ${run} --layers x-recordings -o json`);
    const { proofId } = JSON.parse(made.stdout);
    rmSync(join(plane.folder, `${run}.govproof.json`), { force: true });
    await plane.gov(`proofs get ${proofId} --events ${events} --out ${run}.govproof.json`);
    const flags = '--trust trust --no-remember';
    const shown = await plane.gov(`proofs verify ${run}.govproof.json ${flags} -o json`);
    const verdict = JSON.parse(shown.stdout);
    const service = JSON.parse((await plane.gov(`proofs verify ${proofId} -o json`)).stdout);
    const human = await plane.gov(`proofs verify ${run}.govproof.json ${flags}`, { columns: 200 });
    const named = (layers: { name: string }[]) => layers.find(({ name }) => name === 'x-recordings');
    return { exit: shown.code, verdict, layer: named(verdict.layers), service: named(service.layers), human };
  };

  it('passes for recordings that balance, with words in every output', async () => {
    const words = expect.stringMatching(
      /^recordings balanced: 1 of 1 file, nothing left out, by the word of (?:key|usr)_\w+$/,
    );
    const found = await layerOf('whole');
    const layer = { name: 'x-recordings', passed: true, basis: 'recomputed', says: words };
    expect([found.exit, found.layer, found.service]).toEqual([0, layer, layer]);
    expect(found.human.stdout).toContain('nothing left out, by the word of key_');
    expect((await layerOf('whole', 'none')).layer).toEqual({ ...layer, basis: 'attested' });
  });

  it('does not pass for a run without a recording, or with one without a balance, and stays authentic', async () => {
    const live = await layerOf('live');
    expect(live).toMatchObject({
      exit: 3,
      verdict: { authentic: true },
      layer: { passed: false, code: 'NO_RECORDING', says: 'no recording' },
    });
    expect(live.human.stdout).toContain('no recording');
    const { runs } = balanceOfBytes('old.jsonl', Buffer.from(session('old')));
    await post(
      'old',
      runs.flatMap((run) => run.events),
    );
    expect(await layerOf('old')).toMatchObject({
      exit: 3,
      layer: { passed: false, code: 'RECORDING_WITHOUT_BALANCE', says: 'recordings without a balance' },
    });
  });

  it('names what is left out', async () => {
    const strange = session('strange').replace('"tool_use"', '"quantum_use"');
    plane.write('strange.jsonl', strange);
    await plane.gov('events push --from auto strange.jsonl --allow-remainder');
    const { exit, layer, human, service } = await layerOf('strange');
    expect(exit).toBe(3);
    expect(layer).toMatchObject({
      code: 'RECORDING_LEFT_OUT',
      says: expect.stringContaining('0 of 1 file; left out: 1 part with 1 call'),
    });
    expect(service).toMatchObject({ passed: false, code: 'RECORDING_LEFT_OUT' });
    expect(human.stdout.replaceAll(/\s+/g, ' ')).toContain('LEFT OUT: strange.jsonl: 0 of 1 file;');
    expect(human.stdout.replaceAll(/\s+/g, ' ')).toContain('first: line 2 /message/content/0: ');
  });
});
