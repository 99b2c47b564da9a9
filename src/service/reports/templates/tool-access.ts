/** Template `tool-access`: what each agent was allowed to use, and what it used. */
import { limits } from '../../../contract/limits.ts';
import { increase, largestFirst, order } from '../counts/by-name.ts';
import { ToolCalls } from '../counts/activity.ts';
import { barsOf, type Draft } from './draft.ts';
import { count, timeText } from './period.ts';
import { pagesOf, partyText, readEvent, systemEvents, textOf, typeOf, type ReadEvent } from './read.ts';
import { Rows } from './rows.ts';
import { columns, type TableSpec } from './source.ts';
import { template } from './sections.ts';

const rest = 'gov export create --resource audit_events has the events.';

const accessTable: TableSpec = {
  id: 'tool-access',
  title: 'Tools by agent',
  lists:
    'Pairs of agent and tool that decisions or events of the period name; pairs with a remark first, each part by agent and tool',
  columns: columns({
    agent: 'Agent',
    tool: 'Tool',
    status: ['Status', 'status'],
    allowed: ['Decisions that allowed', 'number'],
    escalated: ['Escalated', 'number'],
    denied: ['Denied', 'number'],
    calls: ['Calls', 'number'],
    undecided: ['Calls without a decision', 'number'],
    refused: ['Calls that did not run', 'number'],
    lastDecided: ['Last decision', 'time'],
    lastUsed: ['Last call', 'time'],
    remark: 'Remark',
  }),
  rest,
};

const dataTable: TableSpec = {
  id: 'data-access',
  title: 'Data by agent',
  lists: 'Reads and writes of data that events of the period name, by agent, type and resource',
  columns: columns({
    agent: 'Agent',
    eventType: 'Type',
    resource: 'Resource',
    times: ['Times', 'number'],
    first: ['First recorded', 'time'],
    last: ['Last recorded', 'time'],
  }),
  unshown: 'Its rows are of several types of events, which differ from log to log.',
  rest,
};

const credentialTable: TableSpec = {
  id: 'credentials',
  title: 'Changes to API keys',
  lists: 'API keys that were created, changed, rotated or revoked in the period, in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    changedAt: ['Changed', 'time'],
    keyId: 'Key',
    name: 'Name',
    change: 'Change',
    scopes: 'Scopes',
    actor: 'Changed by',
  }),
  unshown: 'Keys of a plane or of an organization may be recorded in the log of another project.',
  rest,
};

const toolTypes = ['tool.evaluated', 'tool.call', 'tool.denied', 'tool.call_blocked'] as const;
type ToolType = (typeof toolTypes)[number];
const isToolType = (type: string): type is ToolType => (toolTypes as readonly string[]).includes(type);
/** Also what reads data, and what may say that a call was recorded twice. */
const readTypes =
  /^(?:(?:kb|memory|secret|data|file|retrieval)\.[a-z_.]+|tool\.(?:evaluated|call|denied|call_blocked)|event\.completed)$/;

export const toolAccess = template({
  title: 'Tool and data access',
  summary:
    'Which tools and data each agent was allowed to use, which it used, and what it used without a decision',
  choices:
    'Agents are named as events name them. Rights inside a tool are those of the tool, and this report does not see them.',
  sections: {
    tools: {
      title: 'Granted and used',
      text: 'A tool is granted where a decision of the period allowed it. A policy that nobody asked grants nothing here.',
      tables: [accessTable],
      figures: {
        undecided: 'Tool calls without a decision',
        calls: 'Tool calls',
        unused: 'Tools granted and not used',
        deniedOnly: 'Tools used that were only denied',
        agents: 'Agents',
        tools: 'Tools',
        refused: 'Calls that were blocked or denied',
      },
      checks: ['callDecided', 'grantsUsed'],
    },
    data: { title: 'Data', tables: [dataTable] },
    credentials: {
      title: 'Credentials',
      tables: [credentialTable],
      figures: { credentials: 'Changes to API keys' },
    },
  },
  build: async (draft) => {
    const { pairs, more, data, moreData, seen, toolCalls } = await accessIn(draft);
    const credentials = await credentialRows(draft);
    const { calls, undecided, refused } = toolCalls;
    const all = [...pairs.values()];
    const granted = all.filter(({ allowed }) => allowed > 0).length;
    const unused = all.filter((pair) => statusOf(pair) === 'granted, not used').length;
    const lists = toolTypes.map((type) => ({ key: ['type', type], rows: seen.get(type) ?? 0 }));
    return {
      figures: {
        undecided,
        calls,
        unused,
        deniedOnly: all.filter((pair) => statusOf(pair) === 'used, only denied').length,
        agents: new Set(all.map(({ agent }) => agent)).size,
        tools: new Set(all.map(({ tool }) => tool)).size,
        refused,
        credentials: credentials.population,
      },
      checks: {
        callDecided: {
          examined: calls,
          failed: undecided,
          detail: `${undecided} of ${count(calls, 'call')} without one.`,
          none: 'There is no tool call in the period.',
        },
        grantsUsed: {
          examined: granted,
          failed: unused,
          detail: `${unused} of ${count(granted, 'granted tool')} ${unused === 1 ? 'was' : 'were'} not used.`,
          none: 'No decision of the period allowed a tool.',
          missing: more === 0 ? null : `${count(more, 'event')} of more agents and tools were not looked at.`,
        },
      },
      blocks: {
        tools: [barsOf('Calls by tool', 'calls', callsByTool(all))],
      },
      tables: [
        accessRows(pairs).table({
          scope: `${accessTable.lists}. They count all events of the types ${toolTypes.join(', ')}; a call that several sources or spans report, once.`,
          completeness: await draft.evidence.shows('tool-access', lists),
          more,
        }),
        dataRows(data).table({
          scope: `${dataTable.lists}. Types begin with kb, memory, secret, data, file or retrieval.`,
          more: moreData,
        }),
        credentials.table(),
      ],
    };
  },
});

function callsByTool(pairs: readonly Pair[]): (readonly [tool: string, n: number])[] {
  const byTool = new Map<string, number>();
  for (const { tool, calls } of pairs) increase(byTool, tool, calls);
  return largestFirst(byTool).filter(([, n]) => n > 0);
}

interface Pair {
  readonly agent: string;
  readonly tool: string;
  allowed: number;
  escalated: number;
  denied: number;
  calls: number;
  undecided: number;
  refused: number;
  decidedMs: number | null;
  usedMs: number | null;
}

interface DataUse {
  readonly agent: string;
  readonly eventType: string;
  readonly resource: string;
  times: number;
  readonly firstMs: number;
  lastMs: number;
}

interface Access {
  readonly toolCalls: ToolCalls<CallOf>;
  readonly pairs: ReadonlyMap<string, Pair>;
  readonly more: number;
  readonly data: ReadonlyMap<string, DataUse>;
  readonly moreData: number;
  /** Events by type. */
  readonly seen: ReadonlyMap<string, number>;
}

async function accessIn({ source, period }: Draft): Promise<Access> {
  const pairs = new Map<string, Pair>();
  const data = new Map<string, DataUse>();
  const seen = new Map<string, number>();
  let [more, moreData] = [0, 0];
  const toolCalls = new ToolCalls<CallOf>(({ members, serverMs }, { isDecided, isRefused }) => {
    const pair = pairOf(pairs, members);
    if (pair === null) more += 1;
    else if (isRefused) pair.refused += 1;
    else {
      pair.calls += 1;
      if (!isDecided) pair.undecided += 1;
      pair.usedMs = Math.max(pair.usedMs ?? 0, serverMs);
    }
  });
  for await (const leaves of pagesOf(source, period, { bodies: true })) {
    for (const leaf of leaves) {
      const eventType = typeOf(leaf.record);
      if (eventType === null || !readTypes.test(eventType)) continue;
      const event = readEvent(leaf);
      if (event === null) continue;
      if (eventType === 'event.completed') toolCalls.add(event, event);
      else if (isToolType(eventType)) {
        increase(seen, eventType);
        toolCalls.add(event, partiesOf(event));
        if (eventType !== 'tool.evaluated') continue;
        const pair = pairOf(pairs, event.members);
        if (pair === null) more += 1;
        else addDecision(pair, event);
      } else if (!addData(data, event)) moreData += 1;
    }
  }
  toolCalls.finish();
  return { toolCalls, pairs, more, data, moreData, seen };
}

/** Who called what, and when: what is kept of an event until its call is counted. */
type CallOf = Pick<ReadEvent, 'members' | 'serverMs'>;

function partiesOf({ members, serverMs }: ReadEvent): CallOf {
  const parties = ['actor', 'resource'].flatMap((name) => {
    const party = members.get(name);
    return party === undefined ? [] : [[name, party] as const];
  });
  return { members: new Map(parties), serverMs };
}

/** Stands for an actor or a tool that was erased. */
const unknown = '(not kept)';

function pairOf(pairs: Map<string, Pair>, members: ReadEvent['members']): Pair | null {
  const agent = partyText(members.get('actor')) ?? unknown;
  const tool = partyText(members.get('resource')) ?? unknown;
  const key = JSON.stringify([agent, tool]);
  const known = pairs.get(key);
  if (known !== undefined || pairs.size >= limits.reportGroups) return known ?? null;
  const counts = { allowed: 0, escalated: 0, denied: 0, calls: 0, undecided: 0, refused: 0 };
  const made: Pair = { agent, tool, ...counts, decidedMs: null, usedMs: null };
  pairs.set(key, made);
  return made;
}

function addDecision(pair: Pair, { metadata: { decision }, serverMs }: ReadEvent): void {
  if (decision === 'allow' || decision === 'warn') pair.allowed += 1;
  else if (decision === 'escalate') pair.escalated += 1;
  else pair.denied += 1;
  pair.decidedMs = serverMs;
}

function addData(
  data: Map<string, DataUse>,
  { clear: { eventType }, members, serverMs }: ReadEvent,
): boolean {
  const agent = partyText(members.get('actor')) ?? unknown;
  const resource = partyText(members.get('resource')) ?? unknown;
  const key = JSON.stringify([agent, eventType, resource]);
  const known = data.get(key);
  if (known !== undefined) {
    known.times += 1;
    known.lastMs = serverMs;
    return true;
  }
  if (data.size >= limits.reportGroups) return false;
  data.set(key, { agent, eventType, resource, times: 1, firstMs: serverMs, lastMs: serverMs });
  return true;
}

function statusOf({ allowed, denied, escalated, calls, undecided }: Pair): string {
  if (undecided > 0) return 'used without a decision';
  if (calls > 0) return allowed > 0 || denied === 0 ? 'granted and used' : 'used, only denied';
  if (allowed > 0) return 'granted, not used';
  return escalated > 0 ? 'asked, not used' : 'denied, not used';
}

const remarks: Readonly<Record<string, string>> = {
  'used without a decision': 'Calls ran without a policy decision.',
  'used, only denied': 'Calls ran, and decisions only denied the tool.',
  'granted, not used': 'The grant may be more than the agent needs.',
};

function accessRows(pairs: ReadonlyMap<string, Pair>): Rows {
  const rows = new Rows(accessTable);
  const sorted = [...pairs.values()].toSorted((a, b) => order(a.agent, b.agent) || order(a.tool, b.tool));
  for (const pair of sorted) {
    const status = statusOf(pair);
    const remark = remarks[status] ?? null;
    const { agent, tool, allowed, escalated, denied, calls, undecided, refused, decidedMs, usedMs } = pair;
    const counts = [allowed, escalated, denied, calls, undecided, refused];
    rows.add(
      [agent, tool, status, ...counts, timeText(decidedMs), timeText(usedMs), remark],
      remark !== null,
    );
  }
  return rows;
}

function dataRows(data: ReadonlyMap<string, DataUse>): Rows {
  const rows = new Rows(dataTable);
  const sorted = [...data.values()].toSorted(
    (a, b) => order(a.agent, b.agent) || order(a.eventType, b.eventType) || order(a.resource, b.resource),
  );
  for (const { agent, eventType, resource, times, firstMs, lastMs } of sorted)
    rows.add([agent, eventType, resource, times, timeText(firstMs), timeText(lastMs)]);
  return rows;
}

async function credentialRows({ source, period }: Draft): Promise<Rows> {
  const rows = new Rows(credentialTable);
  for await (const event of systemEvents(source, period)) {
    const { eventType, serverTimestamp } = event.clear;
    if (!eventType.startsWith('api_key.')) continue;
    const { members, metadata, index } = event;
    const resource = members.get('resource');
    const keyId =
      typeof resource === 'object' && resource !== null && 'id' in resource ? textOf(resource['id']) : null;
    const change = eventType.slice('api_key.'.length);
    const scopes = Array.isArray(metadata['scopes'])
      ? metadata['scopes'].join(' ')
      : textOf(metadata['changes']);
    rows.add([
      index,
      serverTimestamp,
      keyId,
      textOf(metadata['name']),
      change,
      scopes,
      partyText(members.get('actor')),
    ]);
  }
  return rows;
}
