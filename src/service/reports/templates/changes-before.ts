/**
 * Changes to policies and to the risk router in the days before an incident. Proven by
 * `test/service/reports/templates/contents.test.ts`.
 */
import { openPolicyChange } from '../../../core/decided/policy-change.ts';
import { openConfigChange } from '../../../core/decided/risk-config.ts';
import type { ReportCell, ReportTable } from '../../../core/report/model.ts';
import type { Draft } from './draft.ts';
import { periodOf } from './period.ts';
import { leavesIn } from './read.ts';
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
};

const beforeMs = 7 * 86_400_000;

export interface Changes {
  readonly rows: Rows;
  readonly completeness: ReportTable['completeness'];
}

/** The log has a list of each kind of change, so answers about the days before show that no change is missing. */
export async function changesBefore({ source, evidence }: Draft, firstMs: number | null): Promise<Changes> {
  const rows = new Rows(beforeTable);
  if (firstMs === null)
    return { rows, completeness: notShown('There is no failure, so the table is about no time.') };
  const period = await periodOf({ ...source, startMs: firstMs - beforeMs, endMs: firstMs });
  const found: { index: number; row: ReportCell[] }[] = [];
  for await (const leaf of leavesIn(source, { type: 'gov.policy/1' }, period)) {
    const { at, policyId, event, from, to, version, actor, reason } = openPolicyChange(leaf);
    const change = `${event}: ${from ?? 'none'} to ${to}, version ${version}`;
    found.push({ index: leaf.index, row: [at, 'policy', policyId, change, actor, reason] });
  }
  const policies = found.length;
  for await (const leaf of leavesIn(source, { type: 'gov.config/1' }, period)) {
    const { at, configHash, actor } = openConfigChange(leaf);
    found.push({ index: leaf.index, row: [at, 'risk router', configHash, 'configured', actor, null] });
  }
  for (const { index, row } of found.toSorted((a, b) => b.index - a.index)) rows.add([index, ...row]);
  const lists = [
    { key: ['leaf', 'gov.policy/1'], rows: policies },
    { key: ['leaf', 'gov.config/1'], rows: found.length - policies },
  ];
  return { rows, completeness: await evidence.shows('changes-before', lists, period) };
}
