import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { defaultLayers, layerNames } from '../../../src/contract/proofs.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { IntegrityJudge, eventIntegrity } from '../../../src/core/proofs/integrity.ts';
import {
  causalConsistency,
  chooseLayers,
  decisionNotRun,
  layerOrder,
  logInclusion,
  noPolicyActive,
  replayNotRun,
} from '../../../src/core/proofs/layers.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { readRunEvent, type RunEvent } from '../../../src/core/events/run-entry.ts';
import {
  type Evidence,
  layerStatement,
  readStatement,
  statementHash,
} from '../../../src/core/proofs/statement.ts';
import { projectRoot } from '../../paths.ts';
import { ProofLog, recordSampleRun } from './log.ts';

describe('choosing layers', () => {
  const refused = (layers: readonly string[]): GovError => {
    try {
      chooseLayers(layers);
    } catch (error) {
      if (error instanceof GovError) return error;
    }
    throw new Error('expected a refusal');
  };

  it('chooseLayers follows the list and the default of the contract', () => {
    expect(layerOrder).toEqual(layerNames);
    expect(chooseLayers()).toEqual(defaultLayers);
  });

  it('chooseLayers returns layers in registry order and adds event_integrity', () => {
    expect(chooseLayers(['log_inclusion', 'causal_consistency'])).toEqual([
      'event_integrity',
      'causal_consistency',
      'log_inclusion',
    ]);
    expect(chooseLayers([...layerOrder].reverse())).toEqual(layerOrder);
  });

  it.each([
    ['none', [], '/composed/layers', 'TOO_FEW'],
    ['an unknown one', ['event_integrity', 'magic'], '/composed/layers/1', 'NOT_ALLOWED'],
    ['an unregistered x- layer', ['x-mine'], '/composed/layers/0', 'NOT_ALLOWED'],
    ['one twice', ['log_inclusion', 'log_inclusion'], '/composed/layers/1', 'DUPLICATE_ITEM'],
    ['too many', Array(limits.layers + 1).fill('log_inclusion'), '/composed/layers', 'TOO_MANY'],
  ])('chooseLayers refuses %s and names the allowed layers', (_name, layers, pointer, code) => {
    const error = refused(layers);
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', errors: [{ pointer, in: 'body', code }] });
    if (code === 'NOT_ALLOWED') for (const name of layerNames) expect(error.message).toContain(name);
  });
});

describe('event integrity', () => {
  const judge = (
    events: readonly RunEvent[],
    size = 100,
    trees: readonly Buffer[] = events.map((e) => e.hash),
  ) => {
    const integrity = new IntegrityJudge('run-1', size);
    for (const [at, event] of events.entries()) integrity.add(event, trees[at]!);
    return integrity.finish();
  };
  const sample = (): RunEvent[] => recordSampleRun(new ProofLog());
  const failed = (events: readonly RunEvent[], size?: number, trees?: readonly Buffer[]): string[] =>
    judge(events, size, trees)
      .checks.filter(({ pass }) => !pass)
      .map(({ id }) => id);
  const altered = (event: RunEvent, from: string | RegExp, to: string): RunEvent =>
    readRunEvent({ ...event, record: event.record.replace(from, to) });

  it('event integrity passes for a recorded run and states evidence, clock skew and time sources', () => {
    const events = sample();
    const facts = judge(events);
    expect(facts.run).toMatchObject({ runId: 'run-1', runEvents: 8, firstIndex: 1, lastIndex: 9 });
    expect(eventIntegrity(facts)).toMatchObject({
      layer: 'event_integrity',
      claims: { largestClockSkewMs: 7, timestampSources: { client: 7, source: 1 } },
      verdict: 'pass',
    });
    const late = new ProofLog().record({ runId: 'run-1', timestamp: '2026-01-05T10:00:00.000+02:00' });
    expect(judge([late]).largestClockSkewMs).toBe(3_601_007);
  });

  it('event integrity keeps stated timestamp sources only when bodies were erased since', () => {
    const events = sample();
    const erased = judge(events.map((event, at) => (at === 3 ? { ...event, disclosures: null } : event)));
    const stated = { client: 7, source: 1 };
    expect(eventIntegrity(erased, stated)).toEqual(eventIntegrity(judge(events)));
    expect(eventIntegrity(erased).claims['timestampSources']).toEqual({ client: 7 });
    expect(eventIntegrity(judge(events), { client: 8 }).claims['timestampSources']).toEqual(stated);
  });

  it('event integrity counts events that an importer did not understand, if there are any', () => {
    const log = new ProofLog();
    const [first, second] = ['tool.call', 'x.unknown'].map((eventType) =>
      log.record({ runId: 'run-1', eventType }),
    );
    expect(eventIntegrity(judge([first!, second!])).claims['unknownEvents']).toBe(1);
    expect(eventIntegrity(judge([first!])).claims).not.toHaveProperty('unknownEvents');
  });

  it('event integrity fails with the name of the check for each tampering', () => {
    const events = sample();
    expect(failed(events)).toEqual([]);
    expect(failed(events, 9)).toEqual(['leaves_in_tree']);
    const other = events.map((event, at) => (at === 2 ? leafHash('other') : event.hash));
    expect(failed(events, 100, other)).toEqual(['leaves_in_tree']);
    expect(failed(events.toSpliced(3, 1))).toEqual(['run_seq_gap_free', 'event_ids_unique']);
    expect(failed(events.slice(1))).toEqual(['run_seq_gap_free', 'event_ids_unique']);
    expect(failed(events.toReversed())).toEqual([
      'run_seq_gap_free',
      'event_ids_unique',
      'server_time_monotonic',
    ]);
    expect(failed(events.with(2, altered(events[2]!, '"run-1"', '"run-2"')))).toContain('run_seq_gap_free');
    const id = events[1]!.clear!.eventId;
    expect(failed(events.with(2, altered(events[2]!, /"eventId":"[^"]+"/, `"eventId":"${id}"`)))).toEqual([
      'event_ids_unique',
    ]);
    const time = (text: string) =>
      failed(events.with(2, altered(events[2]!, /"serverTimestamp":"[^"]+"/, `"serverTimestamp":"${text}"`)));
    expect(time('2026-01-05T08:59:59.999Z')).toEqual(['server_time_monotonic']);
    expect(time('2026-01-05T09:00:04Z')).toEqual(['server_time_monotonic']);
    expect(time('2026-02-30T09:00:04.000Z')).toContain('server_time_monotonic');
    const broken = readRunEvent({ ...events[2]!, record: '{}' });
    expect(failed(events.with(2, broken))).toEqual([
      'leaves_in_tree',
      'run_seq_gap_free',
      'event_ids_unique',
    ]);
  });

  it('event integrity refuses a run without events', () => {
    expect(() => new IntegrityJudge('r', 1).finish()).toThrow(/got none/);
  });
});

describe('the other layers', () => {
  const facts = {
    nodes: { n: 2, root: `sha256:${'1'.repeat(64)}` },
    edges: { n: 1, root: `sha256:${'2'.repeat(64)}` },
    rootHash: `sha256:${'3'.repeat(64)}`,
    events: 1,
    unresolved: 4,
    checks: { acyclic: true, causesBeforeEffects: true, nodesBoundToLeaves: true },
  };

  it('causal consistency passes when all checks pass and the graph covers the run', () => {
    const at = { graphIndex: 9, runEvents: 1 };
    expect(causalConsistency(facts, at)).toMatchObject({
      claims: { graphIndex: 9, events: 1, nodes: facts.nodes, rootHash: facts.rootHash, unresolved: 4 },
      verdict: 'pass',
    });
    expect(causalConsistency(facts, { ...at, runEvents: 2 }).verdict).toBe('fail');
    for (const check of ['acyclic', 'causesBeforeEffects', 'nodesBoundToLeaves'] as const) {
      const checks = { ...facts.checks, [check]: false };
      expect(causalConsistency({ ...facts, checks }, at).verdict).toBe('fail');
    }
  });

  it('policy compliance without any policy passes vacuously and says so', () => {
    expect(noPolicyActive()).toMatchObject({
      claims: { vacuous: true, code: 'NO_POLICY_ACTIVE' },
      verdict: 'pass',
    });
  });

  it('a layer that never ran is neither passed nor failed', () => {
    expect(decisionNotRun()).toMatchObject({
      claims: { code: 'DECISION_NOT_RUN' },
      checks: [],
      verdict: 'not_run',
    });
    expect(replayNotRun()).toMatchObject({
      claims: { code: 'REPLAY_NOT_RUN' },
      checks: [],
      verdict: 'not_run',
    });
  });

  it('log inclusion needs a signature, consistency and witnesses', () => {
    const log = { checkpoint: 'o\n1\nr\n', signed: true, previous: null, cosigners: [], quorum: 0 };
    expect(logInclusion(log)).toMatchObject({
      claims: { witness: 'unwitnessed', previousSize: null },
      verdict: 'pass',
    });
    expect(logInclusion({ ...log, signed: false }).verdict).toBe('fail');
    expect(logInclusion({ ...log, previous: { size: 1, consistent: false } }).verdict).toBe('fail');
    expect(logInclusion({ ...log, quorum: 1 }).verdict).toBe('fail');
    const witnessed = logInclusion({
      ...log,
      quorum: 1,
      cosigners: ['w'],
      previous: { size: 1, consistent: true },
    });
    expect(witnessed).toMatchObject({ claims: { witness: 'witnessed', previousSize: 1 }, verdict: 'pass' });
  });
});

describe('layer statements', () => {
  const evidence: Evidence = {
    origin: 'gov.local/prj_x/audit',
    treeSize: 3,
    treeRoot: `sha256:${'a'.repeat(64)}`,
    runId: 'run-1',
    runEvents: 2,
    runRoot: `sha256:${'b'.repeat(64)}`,
    firstIndex: 1,
    lastIndex: 2,
  };
  const nonce = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');

  it('layer statements are the golden texts in the documented frame', () => {
    const golden = readFileSync(join(projectRoot, 'test/golden/policy_compliance.statement.txt'), 'utf8');
    const { preimage, hash } = layerStatement(noPolicyActive(), evidence, nonce);
    expect(preimage).toBe(golden);
    expect(hash).toBe(`sha256:${createHash('sha256').update(golden).digest('hex')}`);
    expect(statementHash(preimage)).toBe(hash);
  });

  it('a layer statement is read back unchanged', () => {
    const { preimage } = layerStatement(noPolicyActive(), evidence, nonce);
    expect(readStatement(preimage)).toEqual({
      ...noPolicyActive(),
      evidence,
      nonce: nonce.toString('base64url'),
    });
    expect(layerStatement(readStatement(preimage)!, evidence, nonce.toString('base64url')).preimage).toBe(
      preimage,
    );
    const other = layerStatement(noPolicyActive(), evidence, Buffer.alloc(16)).hash;
    expect(other).not.toBe(statementHash(preimage));
  });

  const text = layerStatement(noPolicyActive(), evidence, nonce).preimage;
  it.each([
    ['another label', text.replace('/v1', '/v2')],
    ['no label', text.slice(text.indexOf('\n') + 1)],
    ['spaces', text.replace('{', '{ ')],
    ['a short nonce', text.replace(nonce.toString('base64url'), 'AA')],
    ['a nonce with loose bits', text.replace('ODw"', 'ODx"')],
    ['a member too many', text.replace('{"checks"', '{"a":1,"checks"')],
    ['a verdict that does not follow', text.replace('"verdict":"pass"', '"verdict":"fail"')],
    ['a verdict that is none', text.replace('"verdict":"pass"', '"verdict":"fine"')],
    ['a check that failed', text.replace('"pass":true', '"pass":false')],
    ['no checks', text.replace(/"checks":\[.*?\]/, '"checks":[]')],
    ['evidence without a root', text.replace(/,"treeRoot":"[^"]+"/, '')],
    ['evidence with a negative size', text.replace('"treeSize":3', '"treeSize":-3')],
    ['evidence with a hash that is none', text.replace('sha256:aa', 'sha256:AA')],
  ])('a layer statement is refused with %s', (_name, changed) => {
    expect(changed).not.toBe(text);
    expect(readStatement(changed)).toBeNull();
  });
});
