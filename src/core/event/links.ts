/**
 * What an event says about other events and parties, read from its disclosures: the input of the causal graph
 * (contract F14, O2). Everything here was written by clients; what has another type than expected is counted
 * as unresolved or left out, never guessed. Proven by `test/core/event/links.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { valuesAt } from './bodies.ts';
import type { Disclosure } from './disclosure.ts';
import { sha256 } from '../hash.ts';
import type { Json } from '../json/parse.ts';
import type { RunEvent } from './run-entry.ts';

export type PartyKind = 'agent' | 'human' | 'tool' | 'model' | 'data' | 'callee';

export interface Party {
  readonly kind: PartyKind;
  /** At least one of the two is given. */
  readonly id: string | null;
  /** Without an id, what else names the party: its role or type. */
  readonly name: string | null;
}

export interface EventLinks {
  readonly action: string;
  readonly clientEventId: string | null;
  readonly actor: Party | null;
  readonly resource: Party | null;
  readonly parent: string | null;
  readonly causes: readonly string[];
  readonly toolCallId: string | null;
  readonly toolCallIds: readonly string[];
  readonly toolResultIds: readonly string[];
  /** References that are not text, or beyond the limit per event. */
  readonly unusable: number;
}

/** Reads the links of an event. Cost: 2 µs; what no link stands in is passed over. */
export function eventLinks(event: RunEvent): EventLinks {
  const fields = fieldsOf(event);
  const references = new References();
  const causes = asList(fields.get('/metadata/causedBy'));
  return {
    action: text(fields.get('/action')) ?? '',
    clientEventId: text(fields.get('/clientEventId')),
    actor: actorOf(fields),
    resource: resourceOf(fields, event.clear?.eventType ?? ''),
    parent: references.one(fields.get('/metadata/parentEventId')),
    causes: references.list([...(event.clear?.causedBy ?? []), ...causes]),
    toolCallId: text(fields.get('/metadata/toolCallId')),
    toolCallIds: references.list(asList(fields.get('/metadata/toolCallIds'))),
    toolResultIds: references.list(asList(fields.get('/metadata/toolResultIds'))),
    unusable: references.unusable,
  };
}

/** Where an event says what its timestamp was made from (contract O2). */
export const sourcePointer = '/metadata/timestampSource';

/**
 * `metadata.timestampSource` of an event, `client` where it says none; null where
 * it cannot be told: the bodies are not there, or it may have been erased.
 */
export function timestampSource(event: Bodies): string | null {
  if (event.disclosures === null) return null;
  const source = fieldsOf(event).get(sourcePointer);
  if (source === undefined && event.erased !== undefined) return null;
  return source === 'source' || source === 'assumed_utc' || source === 'import' ? source : 'client';
}

/**
 * The node id of a party: `<kind>:id:<id>` where it has an id, else `<kind>:<name>`. A name that begins with
 * `id:` is hashed, so it is nobody's id.
 */
export function partyNodeId({ kind, id, name }: Party): string {
  if (id !== null) return partyId(`${kind}:id`, id);
  return name?.startsWith('id:') === true ? hashedId(kind, name) : partyId(kind, name ?? '');
}

/**
 * `<kind>:<name>` where that fits contract A2, else the kind and the first 32 hex digits of the SHA-256 of
 * the name.
 */
export function partyId(kind: string, name: string): string {
  const id = `${kind}:${name}`;
  return nodeIdPattern.test(id) ? id : hashedId(kind, name);
}

const hashedId = (kind: string, name: string): string => `${kind}:${sha256(name).toString('hex', 0, 16)}`;

export const nodeIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** Whoever has disclosures from elsewhere has matched them to digests first. */
const wanted = new Set([
  '/action',
  '/clientEventId',
  sourcePointer,
  ...['', '/id', '/name', '/role', '/type'].map((member) => `/actor${member}`),
  ...['', '/id', '/name', '/type'].map((member) => `/resource${member}`),
  ...['parentEventId', 'causedBy', 'toolCallId', 'toolCallIds', 'toolResultIds'].map(
    (member) => `/metadata/${member}`,
  ),
]);

export type Fields = ReadonlyMap<string, Json>;
type Bodies = Pick<RunEvent, 'disclosures' | 'fields' | 'erased'>;

/** What links are read from, of disclosures that were parsed already. */
export function linkFields(disclosures: readonly Disclosure[]): Fields {
  const fields = new Map<string, Json>();
  for (const [, pointer, value] of disclosures) if (wanted.has(pointer)) fields.set(pointer, value);
  return fields;
}

let newest: { disclosures: string; fields: Fields } = { disclosures: '[]', fields: new Map() };

/** The newest one is remembered: a run that is proved is asked twice about each event. */
function fieldsOf({ disclosures, fields }: Bodies): Fields {
  if (fields !== undefined) return fields;
  if (disclosures === null) return new Map();
  if (disclosures !== newest.disclosures) newest = { disclosures, fields: valuesAt(disclosures, wanted) };
  return newest.fields;
}

const text = (value: Json | undefined): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

const asList = (value: Json | undefined): readonly Json[] => {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
};

/** Takes references up to a limit per list and counts what it cannot take. */
class References {
  unusable = 0;

  list(values: readonly Json[]): readonly string[] {
    const taken: string[] = [];
    for (const value of values) {
      if (typeof value === 'string' && taken.length < limits.graphReferences) taken.push(value);
      else this.unusable++;
    }
    return taken;
  }

  one(value: Json | undefined): string | null {
    if (value === undefined || value === null) return null;
    if (typeof value === 'string') return value;
    this.unusable++;
    return null;
  }
}

const humans = new Set<Json | undefined>(['user', 'human', 'customer']);

/** A party is a text, or an object that is committed member by member. */
function partyOf(fields: Fields, party: 'actor' | 'resource'): Omit<Party, 'kind'> | null {
  const of = (member: string): string | null => text(fields.get(`/${party}${member}`));
  const id = of('/id');
  const name = of('') ?? of('/name') ?? (id === null ? (of('/role') ?? of('/type')) : null);
  return id === null && name === null ? null : { id, name };
}

function actorOf(fields: Fields): Party | null {
  const role = fields.get('/actor/role');
  const type = fields.get('/actor/type');
  const party = partyOf(fields, 'actor');
  if (party === null) return null;
  const human = humans.has(fields.get('/actor')) || humans.has(role) || humans.has(type);
  return { kind: human ? 'human' : 'agent', ...party };
}

function resourceOf(fields: Fields, eventType: string): Party | null {
  const type = text(fields.get('/resource/type'));
  const party = partyOf(fields, 'resource');
  return party === null ? null : { kind: resourceKind(type, eventType), ...party };
}

/** Without a type of its own, a resource is what the kind of event says it is. */
function resourceKind(type: string | null, eventType: string): PartyKind {
  switch (type ?? eventType.split('.', 1)[0]) {
    case 'tool':
    case 'mcp_tool':
      return 'tool';
    case 'model':
      return 'model';
    case 'agent':
      return type === null ? 'data' : 'callee';
    default:
      return 'data';
  }
}
