/** Template `retention-deletion`: what was erased or pruned, why, and that the values are gone while the proofs stay. */
import { limits } from '../../../contract/limits.ts';
import { readErasure, type ErasureRecord } from '../../../core/decided/erasure.ts';
import { readPrune } from '../../../core/decided/prune.ts';
import { storedDigests } from '../../../core/event/disclosure.ts';
import { hashText } from '../../../core/hash.ts';
import { prunedBelow } from '../../events/run-stream.ts';
import { rootAt } from '../../log/tree-proofs.ts';
import { Draft, factsOf } from './draft.ts';
import { count } from './period.ts';
import { leavesIn, partyText, systemEvents, textOf } from './read.ts';
import { Rows } from './rows.ts';
import { columns, type ReportSource, type TableSpec, type Template } from './source.ts';
import { notShown } from './shown.ts';

const erasureTable: TableSpec = {
  id: 'erasures',
  title: 'Erasures',
  lists:
    'Erasures that were recorded in the period; those whose values are still stored first, each part in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    erasureId: 'Erasure',
    requestedAt: ['Requested', 'time'],
    executedAt: ['Executed', 'time'],
    reason: 'Reason',
    leaves: ['Leaves', 'number'],
    values: ['Values', 'number'],
    keyDestroyed: 'Key destroyed',
    checked: ['Values checked', 'number'],
    status: ['Status', 'status'],
  }),
};

const pruneTable: TableSpec = {
  id: 'prunings',
  title: 'Prunings',
  lists: 'Prunings that were recorded in the period, in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    prunedAt: ['Pruned', 'time'],
    below: ['Events below leaf', 'number'],
    root: ['Root at that leaf', 'hash'],
    archiveHash: ['Archive', 'hash'],
    archiveBytes: ['Bytes of the archive', 'number'],
    reason: 'Reason',
    status: ['Status', 'status'],
  }),
};

const changeTable: TableSpec = {
  id: 'retention-changes',
  title: 'Changes to retention',
  lists: 'Changes to the settings of the project that were recorded in the period, in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    changedAt: ['Changed', 'time'],
    eventType: 'Change',
    changes: 'Settings',
    actor: 'Changed by',
  }),
};

export const retentionDeletion: Template = {
  title: 'Retention and deletion',
  summary:
    'What was erased or archived, on whose rule, whether the values are gone, and whether proofs still hold',
  tables: [erasureTable, pruneTable, changeTable],
  build: async (source) => {
    const draft = await Draft.of(source);
    const erased = await erasuresIn(draft);
    const pruned = await pruningsIn(draft);
    const changes = await changesIn(draft);
    const { retentionDays, legalHold } = source.settings;

    draft.figure('values', 'Values erased', erased.values);
    draft.figure('stillStored', 'Erased values that are still stored', erased.kept);
    draft.figure('erasures', 'Erasures', erased.rows.population);
    draft.figure('byRequest', 'Erasures that a person asked for', erased.byRequest);
    draft.figure('prunings', 'Prunings', pruned.rows.population);
    draft.figure('prunedBelow', 'Events below this leaf are in an archive', draft.period.prunedBelow);
    draft.figure('retention', 'Contents are kept for (days)', retentionDays ?? 'no limit', 'text');
    draft.figure('legalHold', 'Legal hold', legalHold ? 'in force' : 'none', 'text');
    deletionChecks(draft, { erased, pruned });

    draft.section(
      'Erasures',
      {
        text: 'An erasure removes values and their salts. Records and hashes stay, so proofs that were made before still verify. Copies outside this installation, such as exports and backups, are not erased by it.',
      },
      { table: erasureTable.id },
    );
    draft.section(
      'Prunings',
      {
        text: 'A pruning moves events to an archive file that the leaf names by its hash. Decisions, changes and hashes stay.',
      },
      { table: pruneTable.id },
    );
    draft.section(
      'Rules',
      factsOf({
        'Contents are erased after (days)': [retentionDays ?? 'never by age', 'text'],
        'Legal hold': [legalHold ? 'in force: nothing is erased' : 'none', 'text'],
      }),
      { table: changeTable.id },
    );

    draft.table(
      erased.rows.table(
        `${erasureTable.lists}. They name leaves and hashes, never what was erased.`,
        await draft.evidence.shows('erasures', [
          { key: ['leaf', 'gov.erasure/1'], rows: erased.rows.population },
        ]),
        { rest: 'The log has all of them.' },
      ),
    );
    draft.table(
      pruned.rows.table(
        `${pruneTable.lists}.`,
        await draft.evidence.shows('prunings', [
          { key: ['leaf', 'gov.prune/1'], rows: pruned.rows.population },
        ]),
        { rest: 'The log has all of them.' },
      ),
    );
    draft.table(
      changes.table(
        `${changeTable.lists}. On a data plane the service or the configuration decides settings, and their events are config.change.`,
        notShown('Its rows are events of several types of the run gov.system.'),
        { rest: 'gov export create --resource audit_events --run gov.system has the events.' },
      ),
    );
    return draft.built([
      'Erasures that were refused, or that wait for a second person, are not in the log and are left out.',
    ]);
  },
};

interface Erased {
  readonly rows: Rows;
  readonly values: number;
  readonly kept: number;
  readonly checked: number;
  readonly byRequest: number;
}

async function erasuresIn({ source, period }: Draft): Promise<Erased> {
  const rows = new Rows(erasureTable);
  let [values, kept, checked, byRequest] = [0, 0, 0, 0];
  for await (const { index, leaf } of leavesIn(source, { type: 'gov.erasure/1' }, period)) {
    const erasure = readErasure(leaf.record);
    if (erasure === null) continue;
    const digests = erasure.targets.reduce((sum, target) => sum + target.digests.length, 0);
    const seen = await checkedValues(source, erasure, limits.reportErasedChecked - checked);
    values += digests;
    kept += seen.kept;
    checked += seen.leaves;
    if (erasure.reasonCode !== 'retention') byRequest += 1;
    const status = seen.kept > 0 ? 'still stored' : seen.values === digests ? 'gone' : 'not all checked';
    const { erasureId, requestedAt, executedAt, reasonCode, targets, keyDestroyed } = erasure;
    const row = [
      index,
      erasureId,
      requestedAt,
      executedAt,
      reasonCode,
      targets.length,
      digests,
      keyDestroyed,
      seen.values,
      status,
    ];
    rows.add(row, seen.kept > 0);
  }
  return { rows, values, kept, checked, byRequest };
}

/** Reads the leaves again: how many of the erased values were looked for, and how many are still there. */
async function checkedValues(
  { reader, projectId, breathe }: ReportSource,
  { targets }: ErasureRecord,
  most: number,
): Promise<{ readonly values: number; readonly kept: number; readonly leaves: number }> {
  let [values, kept, leaves] = [0, 0, 0];
  for (const { index, digests } of targets.slice(0, Math.max(0, most))) {
    const leaf = await reader.leaf(projectId, index).catch(nullIfPruned);
    const stored = new Set(leaf?.disclosures ? (storedDigests(leaf.disclosures) ?? []) : []);
    leaves += 1;
    values += digests.length;
    kept += digests.filter((digest) => stored.has(digest)).length;
    if (leaves % 100 === 0) await breathe();
  }
  return { values, kept, leaves };
}

function nullIfPruned(error: unknown): null {
  if (prunedBelow(error) === null) throw error;
  return null;
}

interface Pruned {
  readonly rows: Rows;
  readonly wrong: number;
}

async function pruningsIn({ source, period }: Draft): Promise<Pruned> {
  const rows = new Rows(pruneTable);
  let wrong = 0;
  for await (const { index, leaf } of leavesIn(source, { type: 'gov.prune/1' }, period)) {
    const prune = readPrune(leaf.record);
    if (prune === null) continue;
    const { minIndex, rootAtMinIndex, archiveHash, archiveSize, reasonCode, prunedAt } = prune;
    const root = hashText(await rootAt(source.reader, source.projectId, minIndex));
    const status = root === rootAtMinIndex ? 'root confirmed' : 'root differs';
    if (root !== rootAtMinIndex) wrong += 1;
    rows.add(
      [index, prunedAt, minIndex, rootAtMinIndex, archiveHash, archiveSize, reasonCode, status],
      root !== rootAtMinIndex,
    );
  }
  return { rows, wrong };
}

const settingTypes: ReadonlySet<string> = new Set([
  'retention.changed',
  'project.updated',
  'config.change.applied',
]);

async function changesIn({ source, period }: Draft): Promise<Rows> {
  const rows = new Rows(changeTable);
  for await (const event of systemEvents(source, period)) {
    const { eventType, serverTimestamp } = event.clear;
    if (!settingTypes.has(eventType) && !eventType.startsWith('config.change.')) continue;
    const changes = textOf(event.metadata['changes'] ?? event.metadata);
    rows.add([event.index, serverTimestamp, eventType, changes, partyText(event.members.get('actor'))]);
  }
  return rows;
}

function deletionChecks(draft: Draft, { erased, pruned }: { erased: Erased; pruned: Pruned }): void {
  const gone = 'Erased values are no longer stored';
  if (erased.rows.population === 0) draft.check(gone, 'not_shown', 'Nothing was erased in the period.');
  else if (erased.kept > 0)
    draft.check(
      gone,
      'fail',
      `${count(erased.kept, 'value is', 'values are')} still stored. Run gov log fsck.`,
    );
  else if (erased.checked >= limits.reportErasedChecked)
    draft.check(
      gone,
      'not_shown',
      `None of ${limits.reportErasedChecked} checked leaves has one; the others were not read.`,
    );
  else draft.check(gone, 'pass', `${count(erased.values, 'value')} looked for, none found in this store.`);
  const roots = 'Prunings left the hashes of the log as they were';
  if (pruned.rows.population === 0) draft.check(roots, 'not_shown', 'Nothing was pruned in the period.');
  else
    draft.check(
      roots,
      pruned.wrong === 0 ? 'pass' : 'fail',
      `${pruned.wrong} of ${count(pruned.rows.population, 'pruning')} with another root than the stored tree has.`,
    );
  const held = 'No legal hold was broken';
  if (!draft.source.settings.legalHold) draft.check(held, 'not_shown', 'No legal hold is in force.');
  else
    draft.check(
      held,
      erased.rows.population === 0 ? 'pass' : 'not_shown',
      'A hold is in force now. Compare its date with the erasures of the period.',
    );
}
