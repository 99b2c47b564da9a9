import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { verdictCodes } from '../../../src/core/proofs/verdict.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
  const events = Array.from({ length: 20 }, (_, n) => event({ runId: 'run-1', metadata: { n } }));
  await plane.call('POST', '/events/batch', { body: { events } });
});
afterAll(() => plane.end());

const prove = (body: Record<string, unknown>) => plane.call('POST', '/proofs', { body });
const verify = async (body: unknown) => (await plane.call('POST', '/proofs/verify', { body })).body;
const names = (layers: { name: string }[]): string[] => layers.map(({ name }) => name);
const trust = async () => {
  const keys = (await plane.call('GET', '/log/key')).text.trim().split('\n');
  return parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
};

describe('POST /proofs', () => {
  it('POST /proofs proves a run with the three default layers', async () => {
    const { status, body, headers } = await prove({ runId: 'run-1' });
    expect(status).toBe(201);
    expect(headers['location']).toBe(`/api/v1/proofs/${body.proofId}`);
    expect(headers['gov-completeness']).toBe('checked');
    expect(names(body.layers)).toEqual(['event_integrity', 'causal_consistency', 'policy_compliance']);
    expect(body.layers.every(({ verified }: { verified: boolean }) => verified)).toBe(true);
    expect(body.createdAt).toBe(body.commitment.timestamp);
    expect((await plane.call('GET', `/proofs/${body.proofId}`)).body).toEqual(body);
  });

  it('POST /proofs returns layers in registry order, always with event_integrity', async () => {
    const { body } = await prove({
      runId: 'run-1',
      composed: { layers: ['log_inclusion', 'policy_compliance'] },
    });
    expect(names(body.layers)).toEqual(['event_integrity', 'policy_compliance', 'log_inclusion']);
  });

  it('POST /proofs says that layers which never ran do not hold', async () => {
    const layers = ['decision_lineage', 'replay_determinism'];
    const { body } = await prove({ runId: 'run-1', composed: { layers } });
    expect(body.layers.map(({ verified }: { verified: boolean }) => verified)).toEqual([true, false, false]);
    expect(await verify({ proofId: body.proofId })).toMatchObject({
      verified: false,
      layers: [{ passed: true }, { code: 'DECISION_NOT_RUN' }, { code: 'REPLAY_NOT_RUN' }],
    });
  });

  it('POST /proofs echoes the alias of the schema version and rejects others', async () => {
    expect((await prove({ runId: 'run-1', schemaVersion: 'v1' })).body.commitment.schemaVersion).toBe('v1');
    const { status, body } = await prove({ runId: 'run-1', schemaVersion: '2.0' });
    expect([status, body.supported]).toEqual([400, ['1.0', 'v1']]);
  });

  it('POST /proofs rejects unknown, repeated and missing layers and runs without events', async () => {
    for (const layers of [['x-mine'], ['nope'], ['log_inclusion', 'log_inclusion'], []]) {
      expect((await prove({ runId: 'run-1', composed: { layers } })).status).toBe(400);
    }
    expect((await prove({ runId: 'nobody' })).body.code).toBe('RUN_HAS_NO_EVENTS');
    expect((await prove({ runId: 'nobody', async: true })).body.code).toBe('RUN_HAS_NO_EVENTS');
    expect((await prove({})).status).toBe(400);
  });

  it('POST /proofs logs the graph again only when it changed', async () => {
    const leaves = async () => Number((await plane.call('GET', '/log/checkpoint')).text.split('\n')[1]);
    await prove({ runId: 'run-1' });
    const before = await leaves();
    await prove({ runId: 'run-1' });
    expect((await leaves()) - before).toBe(1); // the proof's own leaf
    await plane.call('POST', '/events', { body: event({ runId: 'run-1' }) });
    await prove({ runId: 'run-1' });
    expect((await leaves()) - before).toBe(4); // event, graph, proof
  });

  it('POST /proofs succeeds while the run keeps growing', async () => {
    const proving = { done: false };
    const writer = (async () => {
      while (!proving.done) await plane.call('POST', '/events', { body: event({ runId: 'busy' }) });
    })();
    await plane.call('POST', '/events', { body: event({ runId: 'busy' }) });
    for (let at = 0; at < 5; at += 1) {
      const { status, body } = await prove({ runId: 'busy' });
      expect(status).toBe(201);
      expect(body.layers.every(({ verified }: { verified: boolean }) => verified)).toBe(true);
    }
    proving.done = true;
    await writer;
  });

  it('GET /proofs lists proofs newest first, also of one run', async () => {
    const made = (await prove({ runId: 'busy' })).body;
    const { data } = (await plane.call('GET', '/proofs?runId=busy')).body;
    expect(data[0]).toEqual(made);
    expect(data.length).toBe(6);
    const page = (await plane.call('GET', '/proofs?limit=2')).body;
    const next = (await plane.call('GET', `/proofs?limit=2&cursor=${page.nextCursor}`)).body;
    expect(
      new Set([...page.data, ...next.data].map(({ proofId }: { proofId: string }) => proofId)).size,
    ).toBe(4);
    const run = (await plane.call('GET', '/runs')).body.data.find(
      (each: { runId: string }) => each.runId === 'busy',
    );
    expect(run.proofs).toBe(6);
  });
});

describe('POST /proofs/verify', () => {
  it('POST /proofs/verify recomputes a stored proof, also after the run grew', async () => {
    const { body } = await prove({
      runId: 'run-1',
      composed: { layers: ['causal_consistency', 'log_inclusion'] },
    });
    await plane.call('POST', '/events', { body: event({ runId: 'run-1' }) });
    await prove({ runId: 'run-1' });
    const result = await verify({ proofId: body.proofId });
    expect(result).toEqual({
      proofId: body.proofId,
      verified: true,
      authentic: true,
      compliant: 'not_checked',
      layers: names(body.layers).map((name) => ({ name, passed: true, basis: 'recomputed' })),
    });
  });

  it('POST /proofs/verify accepts the artifact with and without createdAt', async () => {
    const { body } = await prove({ runId: 'run-1' });
    const { createdAt: _createdAt, ...rest } = body;
    expect((await verify(body)).verified).toBe(true);
    expect((await verify(rest)).verified).toBe(true);
  });

  it('POST /proofs/verify answers 200 and verified false for an artifact with any member changed', async () => {
    const { body } = await prove({ runId: 'run-1' });
    const { body: other } = await prove({ runId: 'run-1' });
    const [first, ...layers] = body.layers;
    const changed = [
      { ...body, runId: 'run-2' },
      { ...body, schemaVersion: 'v1' },
      { ...body, commitment: { ...body.commitment, timestamp: '2026-01-01T00:00:00.000Z' } },
      { ...body, commitment: {} },
      { ...body, proofHash: other.proofHash },
      { ...body, proofHash: 'x' },
      { ...body, layers },
      { ...body, layers: [] },
      { ...body, layers: [{ ...first, verified: false }, ...layers] },
      { ...body, layers: [{ ...first, hash: other.layers[0].hash }, ...layers] },
      { ...body, layers: ['nonsense'] },
      { ...body, createdAt: other.createdAt },
      { ...body, proofId: other.proofId },
    ];
    for (const artifact of changed) {
      const result = await verify(artifact);
      expect(result.verified, JSON.stringify(artifact)).toBe(false);
      expect(Object.keys(verdictCodes), JSON.stringify(artifact)).toContain(result.code);
    }
  });

  it('POST /proofs/verify says why an artifact does not verify, and keeps the layers in the answer', async () => {
    const { body } = await prove({ runId: 'run-1' });
    const zeroed = await verify({ ...body, proofHash: `sha256:${'0'.repeat(64)}` });
    expect([zeroed.code, names(zeroed.layers)]).toEqual(['HASH_MISMATCH', names(body.layers)]);
    const malformed = await verify({ ...body, proofHash: 'x' });
    expect([malformed.code, names(malformed.layers)]).toEqual(['STORED_MISMATCH', names(body.layers)]);
    expect(malformed.layers.every(({ passed }: { passed: boolean }) => !passed)).toBe(true);
    const reordered = await verify({ ...body, layers: body.layers.toReversed() });
    expect(reordered.code).toBe('LAYERS_INVALID');
    const unmet = await prove({ runId: 'run-1', composed: { layers: ['decision_lineage'] } });
    expect((await verify({ proofId: unmet.body.proofId })).code).toBe('LAYER_NOT_SATISFIED');
    expect((await verify(body)).code).toBeUndefined();
  });

  it('POST /proofs/verify answers 400 for an unknown id and for half an artifact', async () => {
    const unknown = await plane.call('POST', '/proofs/verify', {
      body: { proofId: 'prf_01jzzzzzzzzzzzzzzzzzzzzzzz' },
    });
    expect([unknown.status, unknown.body.code]).toEqual([400, 'PROOF_NOT_FOUND']);
    const { body } = await prove({ runId: 'run-1' });
    const half = await plane.call('POST', '/proofs/verify', {
      body: { proofId: body.proofId, runId: 'run-1' },
    });
    expect(half.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/schemaVersion',
      '/commitment',
      '/proofHash',
      '/layers',
    ]);
  });
});

describe('GET /proofs/{proofId}/bundle', () => {
  it('GET /proofs/{proofId}/bundle returns a bundle that the public verifier accepts offline, with each form of events', async () => {
    const { body } = await prove({
      runId: 'run-1',
      composed: { layers: ['causal_consistency', 'log_inclusion'] },
    });
    const bases: Record<string, string[]> = {};
    for (const events of ['none', 'records', 'disclosed']) {
      const answer = await plane.call('GET', `/proofs/${body.proofId}/bundle?events=${events}`);
      expect(answer.status).toBe(200);
      const verdict = verifyBundle(answer.bytes, await trust());
      expect(verdict.checks.filter(({ result }) => result === 'failed')).toEqual([]);
      expect(verdict.verified).toBe(true);
      bases[events] = verdict.layers.map(({ basis }) => basis);
    }
    expect(bases['none']).toEqual(['attested', 'attested', 'attested']);
    expect(bases['records']?.[0]).toBe('recomputed');
    expect(bases['disclosed']?.slice(0, 2)).toEqual(['recomputed', 'recomputed']);
  });

  it('GET /proofs/{proofId}/bundle encloses records by default, and its preimages hash to the values in the proof', async () => {
    const { body } = await prove({ runId: 'run-1' });
    const bundle = (await plane.call('GET', `/proofs/${body.proofId}/bundle`)).body;
    expect(bundle.events.length).toBeGreaterThan(20);
    const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
    expect(sha256(bundle.proofPreimage)).toBe(body.proofHash);
    for (const { name, hash } of body.layers) expect(sha256(bundle.layerStatements[name])).toBe(hash);
  });
});

describe('completeness in a bundle', () => {
  const completeness = async (path: string) => {
    const answer = await plane.call('GET', path);
    const verdict = verifyBundle(answer.bytes, await trust());
    const { result } = verdict.checks.find(({ id }) => id === 'completeness')!;
    const notes = verdict.notes.filter((note) => note.startsWith('RUN_WENT_ON'));
    return { type: answer.body.mediaType, verified: verdict.verified, result, notes };
  };
  const leaves = async () => Number((await plane.call('GET', '/log/checkpoint')).text.split('\n')[1]);
  const second = { type: 'application/vnd.gov.proof.v2+json', verified: true, result: 'passed', notes: [] };

  it('a bundle proves that no event is missing, and a second bundle needs no second index leaf', async () => {
    const path = `/proofs/${(await prove({ runId: 'run-1' })).body.proofId}/bundle`;
    const before = await leaves();
    expect(await completeness(path)).toEqual(second);
    expect(await completeness(`${path}?events=none`)).toEqual(second);
    expect((await leaves()) - before).toBe(1);
  });

  it('the bundle of an old proof says how many events the run got since then', async () => {
    const path = `/proofs/${(await prove({ runId: 'run-1' })).body.proofId}/bundle`;
    for (let more = 0; more < 2; more++) {
      await plane.call('POST', '/events', { body: event({ runId: 'run-1' }) });
    }
    await prove({ runId: 'run-1' });
    const { notes, ...rest } = await completeness(path);
    expect(rest).toEqual({ type: second.type, verified: true, result: 'passed' });
    expect(notes.join()).toContain('2 events of the run were recorded later');
  });

  it('a bundle leaves out completeness on request, for a verifier that knows only version 1', async () => {
    const path = `/proofs/${(await prove({ runId: 'run-1' })).body.proofId}/bundle?completeness=false`;
    const type = 'application/vnd.gov.proof.v1+json';
    expect(await completeness(path)).toEqual({ ...second, type, result: 'not_checked' });
  });

  it('a run whose last rows were deleted gets no proof, and health reports the problem', async () => {
    const own = await startPlane();
    const events = Array.from({ length: 5 }, (_, n) => event({ runId: 'r', metadata: { n } }));
    await own.call('POST', '/events/batch', { body: { events } });
    await own.sql('DELETE FROM run_event WHERE run_seq >= 3');
    await own.sql("UPDATE run SET events = 3 WHERE run_id = 'r'");
    const composed = { layers: ['event_integrity'] };
    const { status, body } = await own.call('POST', '/proofs', { body: { runId: 'r', composed } });
    expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(body.detail).toContain('index_mismatch: the list of the events of r: it has 3');
    const reasons: string[] = (await own.call('GET', '/health')).body.reasons;
    expect(reasons.join()).toContain('integrity_violation');
    await own.end();
  });
});

describe('a run whose rows were all deleted', () => {
  it('a run whose rows were all deleted is told from a run without events, and the answer names the check', async () => {
    const own = await startPlane();
    const events = Array.from({ length: 5 }, (_, n) => event({ runId: 'r', metadata: { n } }));
    await own.call('POST', '/events/batch', { body: { events } });
    for (const table of ['run_event', 'run']) await own.sql(`DELETE FROM ${table}`);
    const { status, body } = await own.call('POST', '/proofs', { body: { runId: 'r' } });
    expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(body.detail).toMatch(
      /the list of the events of r: it has 0 .* and the log 5 .* run gov log fsck --deep/,
    );
    const other = await own.call('POST', '/proofs', { body: { runId: 'nobody' } });
    expect([other.status, other.body.code]).toEqual([400, 'RUN_HAS_NO_EVENTS']);

    const replay = await own.call('POST', '/replay', { body: { runId: 'r' } });
    expect([replay.status, replay.body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(replay.body.detail).toMatch(/events of r: it has 0/);
    await own.end();
  });
});

describe('a changed database', () => {
  const tampered = async (
    change: (third: string) => string,
  ): Promise<{ verified: boolean; layers: { code?: string }[] }> => {
    const own = await startPlane();
    const events = Array.from({ length: 5 }, (_, n) => event({ runId: 'r', metadata: { n } }));
    const { results } = (await own.call('POST', '/events/batch', { body: { events } })).body;
    const { sequence } = (await own.call('GET', `/events/${results[2].eventId}`)).body;
    const { body } = await own.call('POST', '/proofs', { body: { runId: 'r' } });
    await own.sql(change(own.leafAt(sequence)));
    const answer = (await own.call('POST', '/proofs/verify', { body: { proofId: body.proofId } })).body;
    await own.end();
    return answer;
  };

  it('a proof detects a changed record, run entry, graph row or proof in the database', async () => {
    const replaced = (column: string, from: string, to: string): string =>
      `SET ${column} = replace(${column}, '${from}', '${to}')`;
    const changes: ((third: string) => string)[] = [
      (third) => `UPDATE leaf ${replaced('record', 'tool.call', 'tool.cart')} WHERE ${third}`,
      () => 'DELETE FROM run_event WHERE run_seq = 4',
      () => 'UPDATE run_event SET idx = idx + 1 WHERE run_seq = 2',
      () => `UPDATE proof ${replaced('proof', '"verified":true', '"verified":false')}`,
      () => `UPDATE proof ${replaced('statements', 'largestClockSkewMs', 'largestClockSkewM5')}`,
      () => `UPDATE leaf ${replaced('record', 'prf_', 'prg_')} WHERE record LIKE '%gov.proof/1%'`,
      () => `UPDATE checkpoint ${replaced('note', '— ', '— x')} WHERE size > 5`,
    ];
    for (const change of changes) {
      const { verified, layers } = await tampered(change);
      expect([verified, layers.every(({ code }) => code === undefined)], String(change)).toEqual([
        false,
        false,
      ]);
    }
  });
});
