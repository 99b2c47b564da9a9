/**
 * Changes to policies and to the risk router in the days before an incident. Proven by
 * `test/service/reports/templates/changes-before.test.ts`.
 */
import { openPolicyChange } from '../../../core/decided/policy-change.ts';
import { openConfigChange } from '../../../core/decided/risk-config.ts';
import type { OpenLeaf } from '../../../core/decided/leaf.ts';
import type { ReportCell, ReportTable } from '../../../core/reports/model.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { Draft } from './draft.ts';
import { count, isIn, periodOf } from './period.ts';
import { leavesOf, statedMs } from './read.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { columns, type TableSpec } from './source.ts';

export const beforeTable: TableSpec = {
  id: 'changes-before',
  title: 'Changes before the first failure',
  lists: 'Changes to policies and to the risk router in the 7 days before the first failure, newest first',
  columns: columns({
    leaf: ['Leaf', 'number'],
    changedAt: ['Changed', 'time'],
    kind: 'Kind',
    subject: 'Subject',
    change: 'Change',
    actor: 'Changed by',
    reason: 'Reason',
  }),
  rest: 'The report policy-changes has all of them.',
};

const beforeMs = 7 * 86_400_000;

export interface Changes {
  readonly rows: Rows;
  readonly completeness: ReportTable['completeness'];
}

/**
 * Changes by their own times. The log has a list of each kind of change, so answers about these days show that none is
 * missing, unless the times of the log differ: a change has none, and counts at the newest event below it.
 */
export async function changesBefore({ source, evidence }: Draft, firstMs: number | null): Promise<Changes> {
  const rows = new Rows(beforeTable);
  if (firstMs === null)
    return { rows, completeness: notShown('There is no failure, so the table is about no time.') };
  const startMs = firstMs - beforeMs;
  const period = await periodOf({ ...source, startMs, endMs: firstMs });
  const found: { index: number; row: ReportCell[] }[] = [];
  const isListed = (leaf: OpenLeaf): boolean => isIn(period, leaf.index, statedMs(leaf.clear));
  const isBefore = (at: string): boolean => {
    const ms = parseTimestamp(at) ?? 0;
    return ms >= startMs && ms <= firstMs;
  };
  let differing = 0;
  for await (const leaf of leavesOf(source, { type: 'gov.policy/1' })) {
    const { at, policyId, event, from, to, version, actor, reason } = openPolicyChange(leaf);
    if (isBefore(at) !== isListed(leaf)) differing += 1;
    if (!isBefore(at)) continue;
    const change = `${event}: ${from ?? 'none'} to ${to}, version ${version}`;
    found.push({ index: leaf.index, row: [at, 'policy', policyId, change, actor, reason] });
  }
  const policies = found.length;
  for await (const leaf of leavesOf(source, { type: 'gov.config/1' })) {
    const { at, configHash, actor } = openConfigChange(leaf);
    if (isBefore(at) !== isListed(leaf)) differing += 1;
    if (isBefore(at))
      found.push({ index: leaf.index, row: [at, 'risk router', configHash, 'configured', actor, null] });
  }
  for (const { index, row } of found.toSorted((a, b) => b.index - a.index)) rows.add([index, ...row]);
  if (differing > 0) return { rows, completeness: notShown(otherTimes(differing)) };
  const lists = [
    { key: ['leaf', 'gov.policy/1'], rows: policies },
    { key: ['leaf', 'gov.config/1'], rows: found.length - policies },
  ];
  return { rows, completeness: await evidence.shows('changes-before', lists, period) };
}

const otherTimes = (n: number): string =>
  `The lists of the log time a change by the newest event below it, which puts ${count(n, 'change')} on the other side of an end of the 7 days. The report policy-changes shows that no change is missing.`;
