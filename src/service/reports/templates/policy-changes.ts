/** Template `policy-changes`: which policies were in force, who changed them, and why. */
import {
  applyPolicyChange,
  openPolicyChange,
  type VersionsInForce,
  type PolicyChange,
} from '../../../core/decided/policy-change.ts';
import { openConfigChange } from '../../../core/decided/risk-config.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { factsOf, type Draft } from './draft.ts';
import { principalsOf, type Separation, type Principals } from '../counts/principals.ts';
import { leavesIn, leavesOf } from './read.ts';
import { count, isIn } from './period.ts';
import { Rows } from './rows.ts';
import { columns, type TableSpec } from './source.ts';
import { template } from './sections.ts';

const changeTable: TableSpec = {
  id: 'policy-changes',
  title: 'Changes to policies',
  lists:
    'Changes to policies that were recorded in the period; those with a remark first, each part in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    changedAt: ['Changed', 'time'],
    policyId: 'Policy',
    name: 'Name',
    version: ['Version', 'number'],
    change: 'Change',
    from: ['From', 'status'],
    to: ['To', 'status'],
    actor: 'Changed by',
    author: 'Version written by',
    reason: 'Reason',
    policyHash: ['Policy hash', 'hash'],
    remark: 'Remark',
  }),
  rest: 'gov policy versions shows those of one policy.',
};

const inForceTable: TableSpec = {
  id: 'policies-in-force',
  title: 'Policies in force',
  lists: 'Policies that were in force at the start or at the end of the period, by id',
  columns: columns({
    policyId: 'Policy',
    name: 'Name',
    versionAtStart: ['Version at the start', 'number'],
    versionAtEnd: ['Version at the end', 'number'],
    hashAtEnd: ['Policy hash at the end', 'hash'],
    change: ['Change', 'status'],
  }),
  rest: 'gov policy list has all of them.',
};

const configTable: TableSpec = {
  id: 'risk-configurations',
  title: 'Changes to the risk router',
  lists: 'Configurations of the risk router that were recorded in the period, in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    changedAt: ['Changed', 'time'],
    actor: 'Changed by',
    mode: 'Mode',
    configHash: ['Configuration hash', 'hash'],
  }),
  rest: 'The log has all of them.',
};

export const policyChanges = template({
  title: 'Policy and change control',
  summary:
    'Which policies were in force, what changed, who changed it, and whether another person put it in force',
  choices:
    'Who acted is named by the id of the credential. A key acts for the person who made it, as far as the log records who did. Previews of impact are not recorded, so the report does not say whether one was made.',
  sections: {
    changes: {
      title: 'Changes',
      tables: [changeTable],
      figures: {
        changes: 'Changes to policies',
        inForce: 'Changes of what is in force',
        withRemark: 'Changes with a remark',
        alone: 'Put in force for the same principal that wrote them',
        unknown: 'By another credential, no second person shown',
        withoutReason: 'Without a reason',
        weakened: 'Taken out of force or rolled back',
      },
      checks: ['secondPerson', 'hasReason'],
    },
    'in-force': {
      title: 'What was in force',
      text: 'The policies in force at any leaf follow from the changes below it alone. A verifier recomputes them.',
      tables: [inForceTable],
      figures: { atEnd: 'Policies in force at the end' },
    },
    'risk-router': {
      title: 'Risk router',
      tables: [configTable],
      figures: { configs: 'Changes to the risk router' },
    },
  },
  build: async (draft) => {
    const history = await historyOf(draft);
    const { rows, figures, total } = history;
    const configs = await configRows(draft);
    const { evidence } = draft;
    return {
      figures: {
        changes: rows.population,
        inForce: figures.effective,
        withRemark: rows.exceptions,
        alone: figures.alone,
        unknown: figures.unknown,
        withoutReason: figures.unreasoned,
        weakened: figures.weakened,
        atEnd: history.atEnd.size,
        configs: configs.population,
      },
      checks: changesOf(figures),
      blocks: {
        changes: [
          `${count(rows.population, 'change')} to policies in the period, of which ${figures.effective} changed what is in force.`,
        ],
        'in-force': [
          factsOf({
            'In force at the start': [history.atStart.size, 'number'],
            'In force at the end': [history.atEnd.size, 'number'],
          }),
        ],
      },
      tables: [
        rows.table({
          completeness: await evidence.everyLeaf('gov.policy/1', rows),
        }),
        inForceRows(history).table({
          scope: `${inForceTable.lists}. They follow from all ${total} changes of the log below the checkpoint.`,
          completeness: await evidence.shows('policies', [
            { key: ['leaf', 'gov.policy/1'], rows: total, whole: true },
          ]),
        }),
        configs.table({
          completeness: await evidence.everyLeaf('gov.config/1', configs),
        }),
      ],
    };
  },
});

const changesOf = ({ effective, started, alone, unknown, unreasoned }: Figures) => ({
  secondPerson: {
    examined: started,
    failed: alone,
    detail: `${started - alone - unknown} of ${count(started, 'version')} put in force by another person than the author, ${alone} for the same principal.`,
    none: 'No change in the period put a version in force.',
    missing:
      unknown === 0
        ? null
        : `${count(unknown, 'version was', 'versions were')} put in force by another credential. The log does not record that two persons hold the two.`,
  },
  hasReason: {
    examined: effective,
    failed: unreasoned,
    detail: `${unreasoned} of ${count(effective, 'change')} without one.`,
    none: 'No change in the period put a version in force or took one out of force.',
  },
});

interface PolicyHistory {
  name: string | null;
  readonly authors: Map<number, string | null>;
}

interface Figures {
  effective: number;
  /** Versions put in force, also by a rollback. */
  started: number;
  /** For the principal that wrote them. */
  alone: number;
  /** By another credential, where the log does not show two persons. */
  unknown: number;
  unreasoned: number;
  weakened: number;
}

interface History {
  readonly rows: Rows;
  readonly figures: Figures;
  readonly atStart: VersionsInForce;
  readonly atEnd: VersionsInForce;
  readonly known: ReadonlyMap<string, PolicyHistory>;
  /** Changes below the checkpoint. */
  readonly total: number;
}

async function historyOf({ source, period }: Draft): Promise<History> {
  const rows = new Rows(changeTable);
  const principals = await principalsOf(source);
  const figures: Figures = {
    effective: 0,
    started: 0,
    alone: 0,
    unknown: 0,
    unreasoned: 0,
    weakened: 0,
  };
  const known = new Map<string, PolicyHistory>();
  const inForce: VersionsInForce = new Map();
  let atStart: VersionsInForce | null = null;
  let atEnd: VersionsInForce | null = null;
  let total = 0;
  for await (const leaf of leavesOf(source, { type: 'gov.policy/1' })) {
    const change = openPolicyChange(leaf);
    total += 1;
    const atMs = parseTimestamp(change.at) ?? 0;
    const isWithin = isIn(period, leaf.index, atMs);
    if (atStart === null && (isWithin || leaf.index >= period.to)) atStart = new Map(inForce);
    if (atEnd === null && leaf.index >= period.to) atEnd = new Map(inForce);
    const policy = known.get(change.policyId) ?? { name: null, authors: new Map<number, string | null>() };
    known.set(change.policyId, policy);
    if (change.named !== null) policy.name = change.named.name;
    const isWritten = change.event === 'created' || change.event === 'version_added';
    if (isWritten) policy.authors.set(change.version, change.actor);
    const before = inForce.get(change.policyId);
    applyPolicyChange(inForce, change);
    if (!isWithin) continue;
    const author = policy.authors.get(change.version) ?? null;
    const effect = effectOf(change, before !== undefined);
    const second = secondOf(change, author, principals);
    const remark = remarkOf(change, effect, second);
    tallyChange(figures, { change, effect, second });
    const { at, policyId, version, event, from, to, actor, reason, policyHash } = change;
    const row = [
      leaf.index,
      at,
      policyId,
      policy.name,
      version,
      event,
      from,
      to,
      actor,
      author,
      reason,
      policyHash,
      remark,
    ];
    rows.add(row, remark !== null);
  }
  return { rows, figures, atStart: atStart ?? new Map(inForce), atEnd: atEnd ?? inForce, known, total };
}

type Effect = 'starts' | 'weakens' | 'none';

/** What a change does to the policies in force. */
function effectOf({ event, to }: PolicyChange, wasInForce: boolean): Effect {
  if (event === 'created' || event === 'version_added') return 'none';
  if (event === 'rolled_back') return 'weakens';
  if (to === 'active') return 'starts';
  return wasInForce ? 'weakens' : 'none';
}

/** Whether who put a version in force is another than its author; null where it does not put one in force. */
function secondOf(
  { event, to, actor }: PolicyChange & { actor: string | null },
  author: string | null,
  principals: Principals,
): Separation | null {
  if (event === 'created' || event === 'version_added') return null;
  if (event !== 'rolled_back' && to !== 'active') return null;
  return actor === null || author === null ? 'unknown' : principals.apart(actor, author);
}

function remarkOf(
  { event, reason }: PolicyChange & { reason: string | null },
  effect: Effect,
  second: Separation | null,
): string | null {
  if (effect === 'none') return null;
  const remarks = [
    ...(event === 'rolled_back' ? ['Rolled back.'] : effect === 'weakens' ? ['Taken out of force.'] : []),
    ...(second === 'same' ? ['Put in force for the principal that wrote it.'] : []),
    ...(second === 'unknown' ? ['Another credential, not shown to be another person.'] : []),
    ...(reason === null ? ['No reason.'] : []),
  ];
  return remarks.length === 0 ? null : remarks.join(' ');
}

function tallyChange(
  figures: Figures,
  of: {
    change: { readonly reason: string | null };
    effect: Effect;
    second: Separation | null;
  },
): void {
  const { change, effect, second } = of;
  if (effect === 'none') return;
  figures.effective += 1;
  if (effect === 'weakens') figures.weakened += 1;
  if (change.reason === null) figures.unreasoned += 1;
  if (second !== null) figures.started += 1;
  if (second === 'same') figures.alone += 1;
  if (second === 'unknown') figures.unknown += 1;
}

function inForceRows({ atStart, atEnd, known }: History): Rows {
  const rows = new Rows(inForceTable);
  for (const policyId of [...new Set([...atStart.keys(), ...atEnd.keys()])].toSorted()) {
    const [before, after] = [atStart.get(policyId), atEnd.get(policyId)];
    const change =
      before === undefined
        ? 'added'
        : after === undefined
          ? 'removed'
          : before.policyHash === after.policyHash
            ? 'same'
            : 'changed';
    const name = known.get(policyId)?.name ?? null;
    rows.add(
      [policyId, name, before?.version ?? null, after?.version ?? null, after?.policyHash ?? null, change],
      change !== 'same',
    );
  }
  return rows;
}

async function configRows({ source, period }: Draft): Promise<Rows> {
  const rows = new Rows(configTable);
  for await (const leaf of leavesIn(source, { type: 'gov.config/1' }, period)) {
    const { at, actor, config, configHash } = openConfigChange(leaf);
    const mode = config?.['mode'];
    rows.add([leaf.index, at, actor, typeof mode === 'string' ? mode : null, configHash]);
  }
  return rows;
}
