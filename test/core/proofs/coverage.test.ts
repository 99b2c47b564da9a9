import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { CoverageJudge, type CoverageRules } from '../../../src/core/coverage/judge.ts';
import { coverageLayer, coverageRules } from '../../../src/core/proofs/coverage.ts';
import { hashText } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import type { Bundle } from '../../../src/core/proofs/bundle.ts';
import { judged } from '../coverage/sessions.ts';
import { ProofLog, verify } from './log.ts';

const event = (eventType: string, metadata: Record<string, unknown>): EventInput => ({
  runId: 'r',
  eventType,
  actor: { name: 'a' },
  resource: { name: 'pay', type: 'tool' },
  action: 'do',
  timestamp: '2026-01-05T09:00:00Z',
  metadata,
});
const governed = (toolCallId: string) => event('tool.call', { toolCallId, evaluationId: 'pev_1' });
const seen = (toolCallId: string) =>
  event('tool.call', { toolCallId, importer: 'otlp', signal: 'span', timestampSource: 'source' });

describe('the layer x-coverage', () => {
  it('commits to the verdict and the sources of each call, in log order', () => {
    const coverage = judged([governed('1'), seen('1'), seen('2')]);
    const { claims, checks, verdict } = coverageLayer(coverage);
    const items = [
      { verdict: 'governed', sources: ['direct', 'otlp'], compared: 'tool' },
      { verdict: 'ungoverned', sources: ['otlp'], compared: null },
    ].map((item, at) => leafHash(canonicalize({ ...item, eventId: coverage.calls[at]!.eventId })));
    expect(claims).toMatchObject({
      vacuous: false,
      calls: { n: 2, root: hashText(merkleRoot(items)) },
      confirmed: 1,
      missingNumbers: 0,
      firstFinding: { index: 2, verdict: 'ungoverned' },
    });
    expect(checks.map(({ id, pass }) => [id, pass])).toEqual([
      ['nothing_ran_ungoverned', false],
      ['nothing_ran_after_deny', true],
      ['decided_calls_ran', true],
      ['sources_have_no_gaps', true],
    ]);
    expect(verdict).toBe('fail');
  });

  it('passes where sources agree, and passes vacuously where there is only one', () => {
    const agreed = coverageLayer(judged([governed('1'), seen('1')]));
    expect([agreed.verdict, agreed.claims['code']]).toEqual(['pass', undefined]);
    for (const events of [[governed('1')], [event('agent.step', {})]]) {
      const alone = coverageLayer(judged(events));
      expect([alone.verdict, alone.claims['code'], alone.claims['vacuous']]).toEqual([
        'pass',
        'NO_SECOND_SOURCE',
        true,
      ]);
    }
  });

  it('says the same of the same events, whatever they are read from, and something else of others', () => {
    const events = [governed('1'), seen('1')];
    expect(coverageLayer(judged(events))).toEqual(coverageLayer(judged(events)));
    expect(coverageLayer(judged(events)).claims).not.toEqual(
      coverageLayer(judged(events.slice(0, 1))).claims,
    );
  });

  it('fails for a missing number alone', () => {
    const numbered = (number: number) =>
      event('agent.step', {
        importer: 'otlp',
        signal: 'log',
        timestampSource: 'source',
        otel: { 'event.sequence': number },
      });
    const { claims, verdict } = coverageLayer(judged([governed('1'), numbered(0), numbered(3)]));
    expect([verdict, claims['missingNumbers']]).toEqual(['fail', 2]);
  });

  it('names its rules, and recomputes a layer of the first rules, which had none, by those', () => {
    const timedOut = event('tool.result', { toolCallId: '1', outcome: 'error', ok: false });
    const telling = { ...seen('1'), eventType: 'tool.result' };
    const ending = { ...telling, metadata: { ...telling.metadata, outcome: 'error' } };
    const events = [governed('1'), timedOut, seen('1'), ending];
    const newest = coverageLayer(judged(events)).claims;
    const first = coverageLayer(judged(events, undefined, 1)).claims;
    expect(newest).toMatchObject({ rules: 4, counts: { failed: 1, governed: 0 } });
    expect(first).toMatchObject({ counts: { governed: 1 } });
    expect(Object.keys(first)).not.toContain('rules');
    expect(Object.keys(first['counts'] ?? {})).not.toContain('failed');
    expect([newest, { rules: 3 }, { rules: 2 }, first, { rules: 5 }].map(coverageRules)).toEqual([
      4,
      3,
      2,
      1,
      null,
    ]);
  });

  it('by the first rules an ending that they did not know is a call that ran', () => {
    const ended = (outcome: string) => [
      event('tool.call', { toolCallId: '1', timestampSource: 'source' }),
      event('tool.result', { toolCallId: '1', timestampSource: 'source', outcome }),
    ];
    const verdicts = ['denied', 'refused', 'error', 'unknown'].map((outcome) => [
      judged(ended(outcome), undefined, 1).calls[0]?.verdict,
      judged(ended(outcome)).calls[0]?.verdict,
    ]);
    expect(verdicts).toEqual([
      ['ungoverned', 'not_run'],
      ['not_run', 'not_run'],
      ['ungoverned', 'ungoverned'],
      ['ungoverned', 'ungoverned'],
    ]);
  });

  it('does not pass with a call of which no source says whether it ran, which passed by the rules before', () => {
    const mistaken = {
      importer: 'otlp',
      signal: 'log',
      timestampSource: 'source',
      record: 'gemini_cli.tool_call',
    };
    const events = [event('tool.result', { toolCallId: '1', ...mistaken, outcome: 'error' })];
    const layerBy = (rules: CoverageRules) => coverageLayer(judged(events, undefined, rules));
    expect([layerBy(2), layerBy(3)]).toMatchObject([
      { verdict: 'pass', claims: { counts: { unknown: 1 }, firstFinding: null } },
      { verdict: 'fail', claims: { counts: { unknown: 1 }, firstFinding: { index: 0, verdict: 'unknown' } } },
    ]);
    expect(layerBy(3).checks[0]).toEqual({ id: 'nothing_ran_ungoverned', pass: false });
  });

  it('a failed call whose other result does not say how it ended is failed, and was governed by the rules before', () => {
    const unsaid = event('tool.result', { toolCallId: '1' });
    const failed = { ...seen('1'), eventType: 'tool.result' };
    const events = [
      governed('1'),
      unsaid,
      seen('1'),
      { ...failed, metadata: { ...failed.metadata, ok: false } },
    ];
    const verdicts = ([2, 3] as const).map((rules) => judged(events, undefined, rules).calls[0]?.verdict);
    expect(verdicts).toEqual(['governed', 'failed']);
  });

  it('fails where another call ran than was decided, which passed by the rules before', () => {
    const other = { ...seen('1'), resource: { name: 'refund', type: 'tool' } };
    const layerBy = (rules: CoverageRules) => coverageLayer(judged([governed('1'), other], undefined, rules));
    expect([layerBy(3), layerBy(4)]).toMatchObject([
      { verdict: 'pass', claims: { counts: { governed: 1 } } },
      {
        verdict: 'fail',
        claims: { counts: { mismatch: 1 }, firstFinding: { index: 0, verdict: 'mismatch' } },
      },
    ]);
    expect(layerBy(4).checks).toContainEqual({ id: 'decided_calls_ran', pass: false });
  });

  it('of a proof from before recomputes in its bundle by its own rules', () => {
    const log = new ProofLog();
    log.record({ ...governed('1'), runId: 'r' });
    const failed = { toolCallId: '1', outcome: 'error', ok: false };
    log.record({ ...event('tool.result', failed), runId: 'r' });
    const told = { importer: 'otlp', signal: 'span', timestampSource: 'source' };
    log.record({ ...seen('1'), runId: 'r' });
    log.record({ ...event('tool.result', { ...failed, ...told }), runId: 'r' });
    const proved = (rules: CoverageRules) => {
      const judge = new CoverageJudge(rules);
      for (const each of log.run('r')) judge.add(each);
      const stated = coverageLayer(judge.finish());
      return log.prove('r', { layers: ['x-coverage'], graph: false, disclose: () => true, stated });
    };
    const [before, now] = [proved(1), proved(4)];
    const layerOf = (bundle: Bundle) => verify(bundle).layers.find(({ name }) => name === 'x-coverage');
    // whoever makes a proof could choose the rules, so the verdict says which
    for (const [bundle, rules] of [
      [before, 1],
      [proved(2), 2],
      [proved(3), 3],
      [now, 4],
    ] as const)
      expect(layerOf(bundle)).toEqual({
        name: 'x-coverage',
        passed: true,
        basis: 'recomputed',
        says: `judged by rules ${rules} of 4`,
      });
    const [first, second] = [before, now].map(({ layerStatements }) => layerStatements['x-coverage'] ?? '');
    expect([first?.includes('"rules"'), second?.includes('"rules":4')]).toEqual([false, true]);
  });
});
