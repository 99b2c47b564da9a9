/**
 * Drift: the snapshot of a run compared with the one in force now (`docs/how-to/replay-a-run.md`). The severity of another hash depends
 * on its effect: policies and configuration are rated by the repeated decisions.
 *
 *   policyHash         critical  a replayed decision became less restrictive
 *                      high      decisions became more restrictive
 *                      medium    no decision changed, but some steps could not be replayed
 *                      low       no decision changed
 *   decisions          critical, high: the same policies decided differently
 *   toolRegistryHash   high
 *   modelRoute         high      provider or model;   medium: the version only
 *   configStateHash    high      an action of the risk router changed;   medium: no action changed
 *   one side missing     low, and a warning: the empty text matches nothing, not even itself
 *
 * Proven by `test/core/replay/drift.test.ts`, row by row.
 */
import type { SnapshotInput } from '../../contract/governance.ts';
import type { DriftSeverity } from '../../contract/replay-words.ts';
import type { ReplayFindings } from './collector.ts';
import type { DriftDiagnostic } from './fields.ts';

/** Hashes and a route as texts; an empty text was not recorded. */
export type Snapshot = Readonly<SnapshotInput>;

/** Warnings of a replay that had no snapshot to compare, so that it found no drift. */
export const noSnapshot = {
  ofRun: 'no snapshot of the run was recorded',
  ofEither: 'no snapshot of either run was recorded',
} as const;

/** Whether a replay compared snapshots. Without one, no drift says nothing. */
export const comparedSnapshots = (warnings: readonly string[]): boolean =>
  !Object.values(noSnapshot).some((text) => warnings.includes(text));

export interface SnapshotDrift {
  readonly driftDiagnostics: readonly DriftDiagnostic[];
  readonly warnings: readonly string[];
}

const fields = ['policyHash', 'toolRegistryHash', 'modelRoute', 'configStateHash'] as const;
type SnapshotField = (typeof fields)[number];

const nothing: Snapshot = { policyHash: '', toolRegistryHash: '', modelRoute: '', configStateHash: '' };

/** Returns the drift; null stands for a missing snapshot. The texts are attacker controlled. */
export function snapshotDrift(
  expected: Snapshot | null,
  actual: Snapshot | null,
  findings: ReplayFindings,
): SnapshotDrift {
  const driftDiagnostics: DriftDiagnostic[] = [];
  const warnings: string[] = [];
  const sides = { expected: expected ?? nothing, actual: actual ?? nothing };
  for (const [name, side] of Object.entries(sides)) {
    const missing = fields.filter((field) => side[field] === '');
    if (missing.length === fields.length) warnings.push(`no ${name} snapshot was recorded`);
    else if (missing.length > 0) warnings.push(`the ${name} snapshot does not say ${missing.join(', ')}`);
  }
  for (const field of fields) {
    const [from, to] = [sides.expected[field], sides.actual[field]];
    const severity = severityOf(field, from, to, findings);
    if (severity !== null) driftDiagnostics.push({ field, expected: from, actual: to, severity });
  }
  const { policyHash } = sides.expected;
  if (policyHash !== '' && policyHash === sides.actual.policyHash)
    driftDiagnostics.push(...decided(findings));
  return { driftDiagnostics, warnings };
}

/** Returns null for a match. */
function severityOf(
  field: SnapshotField,
  expected: string,
  actual: string,
  findings: ReplayFindings,
): DriftSeverity | null {
  if (expected === '' || actual === '') return 'low';
  if (expected === actual) return null;
  switch (field) {
    case 'policyHash':
      return changeSeverity(findings) ?? (findings.notReplayable > 0 ? 'medium' : 'low');
    case 'toolRegistryHash':
      return 'high';
    case 'modelRoute':
      return modelOf(expected) === modelOf(actual) ? 'medium' : 'high';
    case 'configStateHash':
      return findings.riskActionChanged ? 'high' : 'medium';
  }
}

/** Returns null if no decision changed. */
function changeSeverity({ looser, stricter }: ReplayFindings): DriftSeverity | null {
  if (looser > 0) return 'critical';
  return stricter > 0 ? 'high' : null;
}

/** The same policies must make the same decisions. */
function decided(findings: ReplayFindings): DriftDiagnostic[] {
  const severity = changeSeverity(findings);
  if (severity === null) return [];
  const { looser, stricter, unchanged } = findings;
  return [
    {
      field: 'decisions',
      expected: `${looser + stricter + unchanged} as recorded`,
      actual: `${looser} less restrictive, ${stricter} more restrictive`,
      severity,
    },
  ];
}

/** Forms of a version at the end of a route; any other text belongs to the name of the model. */
const versionForms = [
  /@[^@/]{1,64}$/,
  /-(?:\d{4}-\d{2}-\d{2}|\d{8})(?:-v\d{1,4}(?::\d{1,4})?)?$/,
  /-(?:v\d{1,4}(?:\.\d{1,4}){0,2}|0\d{2}|[01]\d[0-3]\d|latest)$/,
];

/** Returns a route (`openai/gpt-4o-2024-08-06`, `anthropic/claude-sonnet-4@20250514`) without its version. */
export function modelOf(route: string): string {
  const form = versionForms.find((form) => form.test(route));
  return form === undefined ? route : route.replace(form, '');
}
