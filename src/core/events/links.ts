/**
 * The references of an event to other events and parties, read from its disclosures: input of the causal graph
 * (contract F14, O2). Clients write all of it. A value of an unexpected type counts as unresolved or is omitted, never
 * guessed. Proven by `test/core/events/links.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { valuesAt } from './bodies.ts';
import type { Disclosure } from './disclosure.ts';
import { sha256 } from '../hash.ts';
import type { Json } from '../json/parse.ts';
import type { RunEvent } from './run-entry.ts';

type PartyKind = 'agent' | 'human' | 'tool' | 'model' | 'data' | 'callee';

export interface Party {
  readonly kind: PartyKind;
  /** At least one of `id` and `name` is not null. */
  readonly id: string | null;
  /** For a party without id: its name, role or type. */
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
  /** Number of references that are not text, or beyond the limit per event. */
  readonly unusable: number;
}

/** Returns the links of an event. Attacker controlled; never throws. Cost: 2 µs; other fields are skipped. */
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

/** Pointer of the source of a timestamp (contract O2). */
export const sourcePointer = '/metadata/timestampSource';

/**
 * Returns `metadata.timestampSource` of an event, `client` if the event has none; null if the bodies are missing or the
 * field may be erased.
 */
export function timestampSource(event: Bodies): string | null {
  if (event.disclosures === null) return null;
  const source = fieldsOf(event).get(sourcePointer);
  if (source === undefined && event.erased !== undefined) return null;
  return source === 'source' || source === 'assumed_utc' || source === 'import' ? source : 'client';
}

/**
 * Returns the node id of a party: `<kind>:id:<id>` with an id, else `<kind>:<name>`. A name that begins with `id:` is
 * hashed, so that it cannot pose as an id.
 */
export function partyNodeId({ kind, id, name }: Party): string {
  if (id !== null) return partyId(`${kind}:id`, id);
  return name?.startsWith('id:') === true ? hashedId(kind, name) : partyId(kind, name ?? '');
}

/**
 * Returns `<kind>:<name>` if it matches the id pattern of contract A2, else the kind and the first 32 hex digits of the
 * SHA-256 of the name.
 */
export function partyId(kind: string, name: string): string {
  const id = `${kind}:${name}`;
  return nodeIdPattern.test(id) ? id : hashedId(kind, name);
}

const hashedId = (kind: string, name: string): string => `${kind}:${sha256(name).toString('hex', 0, 16)}`;

export const nodeIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** Pointers that links are read from. A caller that passes foreign disclosures has matched them to digests before. */
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

/** Returns the fields of parsed disclosures from which links are read. */
export function linkFields(disclosures: readonly Disclosure[]): Fields {
  const fields = new Map<string, Json>();
  for (const [, pointer, value] of disclosures) if (wanted.has(pointer)) fields.set(pointer, value);
  return fields;
}

let newest: { disclosures: string; fields: Fields } = { disclosures: '[]', fields: new Map() };

/** Remembers the newest event: a proof asks twice about each event of a run. */
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

/** Collects references up to a limit per list, and counts unusable ones. */
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

/** A party is a text, or an object with one commitment per member. */
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

/** A resource without a type gets its kind from the event type. */
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
