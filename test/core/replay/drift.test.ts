/** The table of drift, row by row. */
import { describe, expect, it } from 'vitest';
import type { ReplayFindings } from '../../../src/core/replay/collector.ts';
import { modelOf, type Snapshot, snapshotDrift } from '../../../src/core/replay/drift.ts';

const hash = (digit: number): string => `sha256:${String(digit).repeat(64)}`;
const snapshot = (changes: Partial<Snapshot> = {}): Snapshot => ({
  policyHash: hash(1),
  modelRoute: 'openai/gpt-4o-2024-08-06',
  toolRegistryHash: hash(2),
  configStateHash: hash(3),
  ...changes,
});
const found = (changes: Partial<ReplayFindings> = {}): ReplayFindings => ({
  stricter: 0,
  looser: 0,
  unchanged: 10,
  notReplayable: 0,
  riskActionChanged: false,
  ...changes,
});
const severities = (actual: Partial<Snapshot>, findings: Partial<ReplayFindings> = {}): string[] =>
  snapshotDrift(snapshot(), snapshot(actual), found(findings)).driftDiagnostics.map(
    ({ field, severity }) => `${field} ${severity}`,
  );

describe('drift', () => {
  it('equal snapshots have no drift', () => {
    expect(snapshotDrift(snapshot(), snapshot(), found())).toEqual({ driftDiagnostics: [], warnings: [] });
  });

  it.each<[Partial<ReplayFindings>, string]>([
    [{ looser: 1, stricter: 5, notReplayable: 1 }, 'critical'],
    [{ stricter: 1, notReplayable: 1 }, 'high'],
    [{ notReplayable: 1 }, 'medium'],
    [{ riskActionChanged: true }, 'low'],
    [{}, 'low'],
  ])('drift of the policies, with %j, is %s', (findings, severity) => {
    expect(severities({ policyHash: hash(9) }, findings)).toEqual([`policyHash ${severity}`]);
  });

  it('drift says what was expected and what came', () => {
    const { driftDiagnostics } = snapshotDrift(snapshot(), snapshot({ policyHash: hash(9) }), found());
    expect(driftDiagnostics).toEqual([
      { field: 'policyHash', expected: hash(1), actual: hash(9), severity: 'low' },
    ]);
  });

  it('drift is also reported when the same policies decided otherwise', () => {
    expect(snapshotDrift(snapshot(), snapshot(), found({ looser: 2, stricter: 1 })).driftDiagnostics).toEqual(
      [
        {
          field: 'decisions',
          expected: '13 as recorded',
          actual: '2 less restrictive, 1 more restrictive',
          severity: 'critical',
        },
      ],
    );
    expect(severities({}, { stricter: 1 })).toEqual(['decisions high']);
    expect(severities({}, { notReplayable: 4 })).toEqual([]);
  });

  it('drift of the tools is high', () => {
    expect(severities({ toolRegistryHash: hash(9) })).toEqual(['toolRegistryHash high']);
  });

  it('drift of the configuration is medium, and high when a risk action changed', () => {
    expect(severities({ configStateHash: hash(9) })).toEqual(['configStateHash medium']);
    expect(severities({ configStateHash: hash(9) }, { riskActionChanged: true })).toEqual([
      'configStateHash high',
    ]);
  });

  it.each([
    ['openai/gpt-4o-2024-11-20', 'medium'],
    ['openai/gpt-4o-20241120', 'medium'],
    ['openai/gpt-4o', 'medium'],
    ['openai/gpt-4o-latest', 'medium'],
    ['openai/gpt-4o-mini-2024-08-06', 'high'],
    ['openai/gpt-5', 'high'],
    ['azure/gpt-4o-2024-08-06', 'high'],
    ['OpenAI/gpt-4o-2024-08-06', 'high'],
  ])('drift of the model route to %s is %s', (modelRoute, severity) => {
    expect(severities({ modelRoute })).toEqual([`modelRoute ${severity}`]);
  });

  it.each(['policyHash', 'modelRoute', 'toolRegistryHash', 'configStateHash'] as const)(
    'drift of %s is low, with a warning, when one side or both did not record it',
    (field) => {
      const without = snapshot({ [field]: '' });
      const cases: [Snapshot, Snapshot, string[]][] = [
        [without, snapshot(), [`the expected snapshot does not say ${field}`]],
        [snapshot(), without, [`the actual snapshot does not say ${field}`]],
        [
          without,
          without,
          [`the expected snapshot does not say ${field}`, `the actual snapshot does not say ${field}`],
        ],
      ];
      for (const [expected, actual, warnings] of cases) {
        const drift = snapshotDrift(expected, actual, found({ notReplayable: 3 }));
        expect(drift.driftDiagnostics).toMatchObject([{ field, severity: 'low' }]);
        expect(drift.warnings).toEqual(warnings);
      }
    },
  );

  it('drift of everything is low when there is no snapshot', () => {
    const { driftDiagnostics, warnings } = snapshotDrift(null, null, found());
    expect(driftDiagnostics.map(({ severity }) => severity)).toEqual(['low', 'low', 'low', 'low']);
    expect(warnings).toEqual(['no expected snapshot was recorded', 'no actual snapshot was recorded']);
  });
});

describe('the model of a route', () => {
  it.each([
    ['anthropic/claude-sonnet-4@20250514', 'anthropic/claude-sonnet-4'],
    ['anthropic/claude-3-5-sonnet-20241022', 'anthropic/claude-3-5-sonnet'],
    ['bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0', 'bedrock/anthropic.claude-3-5-sonnet'],
    ['openai/gpt-4-0613', 'openai/gpt-4'],
    ['google/gemini-1.5-pro-002', 'google/gemini-1.5-pro'],
    ['mistral/mistral-large-v2.1', 'mistral/mistral-large'],
    ['ollama/llama3:8b', 'ollama/llama3:8b'],
    ['meta/llama-3.1-405', 'meta/llama-3.1-405'],
    ['openai:gpt-4o', 'openai:gpt-4o'],
    ['', ''],
  ])('the model of the route %s is %s', (route, model) => {
    expect(modelOf(route)).toBe(model);
  });
});
