import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { coverageLayer } from '../../../src/core/proofs/coverage.ts';
import { hashText } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { judged } from '../coverage/sessions.ts';

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
      { verdict: 'governed', sources: ['direct', 'otlp'] },
      { verdict: 'ungoverned', sources: ['otlp'] },
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
});
