/** Template `retention-deletion`: what was erased or pruned, why, and that the values are gone while the proofs stay. */
import { limits } from '../../../contract/limits.ts';
import { readErasure, type ErasureRecord } from '../../../core/decided/erasure.ts';
import { readPrune } from '../../../core/decided/prune.ts';
import { storedDigests } from '../../../core/events/disclosure.ts';
import { systemRun } from '../../../core/events/record.ts';
import { hashText } from '../../../core/hash.ts';
import { isObject } from '../../../core/json/object.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { rootAt } from '../../log/tree-proofs.ts';
import { nullIfPruned } from './coverage.ts';
import { factsOf, type Draft } from './draft.ts';
import { count } from './period.ts';
import { eventsOf, leavesIn, partyText, systemEvents, textOf } from './read.ts';
import { Rows } from './rows.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';
import { template } from './sections.ts';

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
  rest: 'The log has all of them.',
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
  rest: 'The log has all of them.',
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
  unshown: 'Its rows are events of several types of the run gov.system.',
  rest: 'gov export create --resource audit_events --run gov.system has the events.',
};

export const retentionDeletion = template({
  title: 'Retention and deletion',
  summary:
    'What was erased or archived, on whose rule, whether the values are gone, and whether proofs still hold',
  choices:
    'Erasures that were refused, or that wait for a second credential, are not in the log and are left out.',
  sections: {
    erasures: {
      title: 'Erasures',
      text: 'An erasure removes values and their salts. Records and hashes stay, so proofs that were made before still verify. Copies outside this installation, such as exports and backups, are not erased by it.',
      tables: [erasureTable],
      figures: {
        values: 'Values erased',
        stillStored: 'Erased values that are still stored',
        erasures: 'Erasures',
        byRequest: 'Erasures by request',
      },
      checks: ['valuesGone'],
    },
    prunings: {
      title: 'Prunings',
      text: 'A pruning moves events to an archive file that the leaf names by its hash. Decisions, changes and hashes stay.',
      tables: [pruneTable],
      figures: { prunings: 'Prunings', prunedBelow: 'Events below this leaf are in an archive' },
      checks: ['prunedRoots'],
    },
    rules: {
      title: 'Rules',
      tables: [changeTable],
      figures: {
        retention: ['Contents are kept for (days)', 'text'],
        legalHold: ['Legal hold', 'text'],
      },
      checks: ['holdKept'],
    },
  },
  build: async (draft) => {
    const { source, period, evidence } = draft;
    const erased = await erasuresIn(draft);
    const pruned = await pruningsIn(draft);
    const changes = await changesIn(draft);
    const { retentionDays, legalHold } = source.settings;
    const [erasures, prunings] = [erased.rows.population, pruned.rows.population];
    return {
      figures: {
        values: erased.values,
        stillStored: erased.kept,
        erasures,
        byRequest: erased.byRequest,
        prunings,
        prunedBelow: period.prunedBelow,
        retention: retentionDays ?? 'no limit',
        legalHold: legalHold ? 'in force' : 'none',
      },
      checks: deletionOf(source, { erased, pruned, holds: await holdsIn(source) }),
      blocks: {
        rules: [
          factsOf({
            'Contents are erased after (days)': [retentionDays ?? 'never by age', 'text'],
            'Legal hold': [legalHold ? 'in force: nothing is erased' : 'none', 'text'],
          }),
        ],
      },
      tables: [
        erased.rows.table({
          scope: `${erasureTable.lists}. They name leaves and hashes, never what was erased.`,
          completeness: await evidence.everyLeaf('gov.erasure/1', erased.rows),
        }),
        pruned.rows.table({
          completeness: await evidence.everyLeaf('gov.prune/1', pruned.rows),
        }),
        changes.table({
          scope: `${changeTable.lists}. On a data plane the service or the configuration decides settings, and their events are config.change.`,
        }),
      ],
    };
  },
});

interface ErasureRows {
  readonly rows: Rows;
  /** When each was carried out. */
  readonly times: readonly number[];
  readonly values: number;
  readonly kept: number;
  /** Erased values that were looked for in the store. */
  readonly looked: number;
  readonly byRequest: number;
}

async function erasuresIn({ source, period }: Draft): Promise<ErasureRows> {
  const rows = new Rows(erasureTable);
  const times: number[] = [];
  let [values, kept, checked, byRequest] = [0, 0, 0, 0];
  let looked = 0;
  for await (const { index, leaf } of leavesIn(source, { type: 'gov.erasure/1' }, period)) {
    const erasure = readErasure(leaf.record);
    if (erasure === null) continue;
    const digests = erasure.targets.reduce((sum, target) => sum + target.digests.length, 0);
    const seen = await checkedValues(source, erasure, limits.reportErasedChecked - checked);
    values += digests;
    kept += seen.kept;
    checked += seen.leaves;
    looked += seen.values;
    times.push(parseTimestamp(erasure.executedAt) ?? 0);
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
  return { rows, times, values, kept, looked, byRequest };
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

interface PrunedParts {
  /** The exceptions have another root than the stored tree. */
  readonly rows: Rows;
  readonly times: readonly number[];
}

async function pruningsIn({ source, period }: Draft): Promise<PrunedParts> {
  const rows = new Rows(pruneTable);
  const times: number[] = [];
  for await (const { index, leaf } of leavesIn(source, { type: 'gov.prune/1' }, period)) {
    const prune = readPrune(leaf.record);
    if (prune === null) continue;
    const { minIndex, rootAtMinIndex, archiveHash, archiveSize, reasonCode, prunedAt } = prune;
    const root = hashText(await rootAt(source.reader, source.projectId, minIndex));
    const status = root === rootAtMinIndex ? 'root confirmed' : 'root differs';
    times.push(parseTimestamp(prunedAt) ?? 0);
    rows.add(
      [index, prunedAt, minIndex, rootAtMinIndex, archiveHash, archiveSize, reasonCode, status],
      root !== rootAtMinIndex,
    );
  }
  return { rows, times };
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

/** A time in which a legal hold was in force, as the log records it. */
interface Hold {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Legal holds that events of the whole log set and lifted. That of a plane is in its configuration, which is no event. */
async function holdsIn(source: ReportSource): Promise<readonly Hold[]> {
  const holds: Hold[] = [];
  let fromMs: number | null = null;
  for await (const { metadata, serverMs } of eventsOf(source, systemRun, {
    eventType: 'retention.changed',
  })) {
    const { changes } = metadata;
    const hold = isObject(changes) ? changes['legalHold'] : undefined;
    if (!isObject(hold)) continue;
    if (hold['to'] === true) fromMs ??= serverMs;
    else if (fromMs !== null) {
      holds.push({ fromMs, toMs: serverMs });
      fromMs = null;
    }
  }
  return fromMs === null ? holds : [...holds, { fromMs, toMs: Infinity }];
}

function deletionOf(
  { settings: { legalHold } }: ReportSource,
  { erased, pruned, holds }: { erased: ErasureRows; pruned: PrunedParts; holds: readonly Hold[] },
) {
  const times = [...erased.times, ...pruned.times];
  const isKnown = holds.length > 0;
  const during = times.filter((ms) => holds.some(({ fromMs, toMs }) => ms >= fromMs && ms < toMs)).length;
  return {
    valuesGone: {
      examined: erased.looked,
      failed: erased.kept,
      detail:
        erased.kept > 0
          ? `${count(erased.kept, 'value is', 'values are')} still stored. Run gov log fsck.`
          : `${count(erased.looked, 'value')} looked for, none found in this store.`,
      none: 'Nothing was erased in the period.',
      missing:
        erased.looked === erased.values
          ? null
          : `${count(erased.values - erased.looked, 'value was', 'values were')} not looked for: a report reads ${limits.reportErasedChecked} leaves.`,
    },
    prunedRoots: {
      examined: pruned.rows.population,
      failed: pruned.rows.exceptions,
      detail: `${pruned.rows.exceptions} of ${count(pruned.rows.population, 'pruning')} with another root than the stored tree has.`,
      none: 'Nothing was pruned in the period.',
    },
    holdKept: {
      examined: isKnown ? times.length : 0,
      failed: during,
      detail: `${during} of ${count(times.length, 'erasure or pruning', 'erasures and prunings')} of the period ${during === 1 ? 'was' : 'were'} carried out while a hold was in force.`,
      none: !isKnown
        ? legalHold
          ? 'A hold is in force now, and the log does not record since when. Compare its date with the erasures of the period.'
          : 'The log records no legal hold.'
        : 'Nothing was erased or pruned in the period, so no hold could be broken.',
    },
  };
}
