/** Audit events: recording, reading, counting, following (contract E1-E16, O1, O7). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { policyActions } from './policy-words.ts';
import {
  clientId,
  cursorQuery,
  exact,
  freeObject,
  limitQuery,
  nullable,
  oneOf,
  page,
  paging,
  searchedName,
  serviceId,
  sha256Hash,
  timestamp,
} from './shapes.ts';

const text = (max: number) => Type.String({ maxLength: max });

const party = (members: Record<string, ReturnType<typeof text>>, description: string) =>
  Type.Union(
    [
      Type.String({ minLength: 1, maxLength: limits.partyChars }),
      Type.Object(
        // a party is content: a null in it is recorded, as one in metadata is
        Object.fromEntries(
          Object.entries(members).map(([name, schema]) => [name, Type.Optional(nullable(schema))]),
        ),
        { minProperties: 1, maxProperties: limits.partyMembers },
      ),
    ],
    { description },
  );

export const Actor = party(
  {
    id: text(limits.partyIdChars),
    name: text(limits.partyNameChars),
    role: text(limits.partyRoleChars),
    type: text(limits.partyTypeChars),
  },
  'Who acted: a name, or an object such as {id, name, role, type}',
);
const Resource = party(
  { id: text(limits.partyNameChars), name: text(limits.partyNameChars), type: text(limits.partyTypeChars) },
  'What was acted on: a name, or an object such as {id, name, type}',
);

const eventType = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_.:/-]*$',
  maxLength: limits.eventTypeChars,
  description: 'Kind label, such as tool.call',
});

export const EventInput = exact({
  runId: clientId('The run the event belongs to'),
  eventType,
  actor: Actor,
  resource: Type.Optional(Resource),
  action: Type.String({
    minLength: 1,
    maxLength: limits.actionChars,
    // no C0 or C1 control characters
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  }),
  timestamp: timestamp('When it happened, by the client’s clock; stored as sent'),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      maxProperties: limits.metadataKeys,
      propertyNames: { minLength: 1, maxLength: limits.metadataKeyChars },
    }),
  ),
  causedBy: Type.Optional(
    Type.Array(clientId('eventId or clientEventId of a cause'), { maxItems: limits.causedBy }),
  ),
  aiSystemId: Type.Optional(clientId('The AI system the run belongs to')),
  clientEventId: Type.Optional(clientId('Id from the client; a repeat with equal content is the same event')),
});
export type EventInput = Static<typeof EventInput>;
/** Members of an event that only the service sets: sending one is READ_ONLY_FIELD (contract E7). */
export const eventReadOnly = ['eventId', 'serverTimestamp', 'sequence', 'leafHash'] as const;

export const AuditEvent = Type.Object({
  eventId: serviceId('evt'),
  runId: Type.String(),
  eventType: Type.String(),
  actor: Type.Union([Type.String(), freeObject]),
  resource: Type.Union([Type.String(), freeObject, Type.Null()]),
  action: Type.String(),
  timestamp: timestamp('As the client sent it'),
  serverTimestamp: timestamp('Set by the service; never runs backwards'),
  metadata: freeObject,
  causedBy: nullable(Type.Array(Type.String())),
  aiSystemId: nullable(Type.String()),
  clientEventId: nullable(Type.String()),
  sequence: Type.Integer({ minimum: 0, description: 'Leaf index in the project’s log' }),
  leafHash: sha256Hash,
  erased: Type.Optional(
    Type.Array(
      Type.Object({
        digest: Type.String({
          description: 'A digest in the record of the event whose value was erased',
        }),
        sequence: Type.Integer({ description: 'Leaf index of the erasure that removed the value' }),
      }),
      {
        maxItems: limits.committedFields,
        description:
          'Erased values of the event, by digest. Their members are absent, or empty if every event has them',
      },
    ),
  ),
});
export type AuditEvent = Static<typeof AuditEvent>;

export const Run = Type.Object({
  runId: Type.String(),
  events: Type.Integer({ minimum: 1 }),
  firstTimestamp: timestamp('Smallest client timestamp'),
  lastTimestamp: timestamp('Largest client timestamp'),
  lastServerTimestamp: timestamp('Server time of the newest event'),
  aiSystemId: nullable(Type.String()),
  sealed: Type.Boolean(),
  proofs: Type.Integer({ minimum: 0 }),
  lastDecision: nullable(Type.String()),
});
export type Run = Static<typeof Run>;

const between = {
  startTime: Type.Optional(timestamp('Inclusive lower bound on the client timestamp, to the millisecond')),
  endTime: Type.Optional(timestamp('Inclusive upper bound on the client timestamp, to the millisecond')),
};

/** For the receipt of the leaf (contract P29). Optional: answers that an older build kept for repeats lack it. */
const leafHash = Type.String({ ...sha256Hash, description: 'Leaf hash of an accepted event' });

const BatchResult = Type.Object({
  eventId: nullable(serviceId('evt')),
  leafHash: Type.Optional(leafHash),
  status: Type.Union([Type.Literal('accepted'), Type.Literal('rejected')]),
  reason: Type.Optional(Type.String({ maxLength: limits.batchReasonChars })),
});
export type BatchResult = Static<typeof BatchResult>;

export const events = {
  createEvent: operation({
    method: 'POST',
    path: '/events',
    tag: 'Audit Events',
    stability: 'stable',
    origin: 'specification',
    scope: 'events:write',
    meters: 'audit_event',
    summary: 'Record one audit event',
    body: EventInput,
    readOnly: eventReadOnly,
    success: {
      201: Type.Object({
        eventId: serviceId('evt'),
        runId: Type.String(),
        leafHash: Type.Optional(leafHash),
      }),
    },
    statuses: [400, 401, 429, 500],
  }),
  listEvents: operation({
    method: 'GET',
    path: '/events',
    tag: 'Audit Events',
    stability: 'stable',
    origin: 'specification',
    scope: 'events:read',
    summary: 'List the events of a run in the order of recording',
    query: exact({
      runId: clientId('Run'),
      eventType: Type.Optional(eventType),
      ...between,
      order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
      cursor: cursorQuery,
      limit: limitQuery(limits.eventPageDefault, limits.eventPageMax),
    }),
    success: { 200: Type.Object({ events: Type.Array(AuditEvent), nextCursor: nullable(Type.String()) }) },
    statuses: [400, 401, 500],
  }),
  createEvents: operation({
    method: 'POST',
    path: '/events/batch',
    tag: 'Audit Events',
    stability: 'stable',
    origin: 'specification',
    scope: 'events:write',
    meters: 'audit_event',
    summary: 'Record up to 500 audit events, each accepted or rejected by itself',
    body: exact({ events: Type.Array(Type.Unknown(), { minItems: 1, maxItems: limits.batchEvents }) }),
    items: 'events',
    bodyBytes: limits.batchBodyBytes,
    success: { 201: Type.Object({ results: Type.Array(BatchResult) }) },
    statuses: [400, 401, 429, 500],
  }),
  countEvents: operation({
    method: 'GET',
    path: '/events/count',
    tag: 'Audit Events',
    stability: 'stable',
    origin: 'specification',
    scope: 'events:read',
    command: 'events count',
    summary: 'Count events exactly',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      eventType: Type.Optional(eventType),
      ...between,
    }),
    success: { 200: Type.Object({ count: Type.Integer({ minimum: 0 }) }) },
    statuses: [400, 401, 500],
  }),
  searchEvents: operation({
    method: 'GET',
    path: '/events/search',
    tag: 'Audit Events',
    stability: 'beta',
    origin: 'extension',
    scope: 'events:read',
    summary: 'Find events of all runs, newest recording first',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      eventType: Type.Optional(eventType),
      aiSystemId: Type.Optional(clientId('AI system')),
      actor: Type.Optional(searchedName('The id or the name of the actor, as recorded')),
      onBehalfOf: Type.Optional(
        searchedName(
          `The id or the name of one for whom the actor acts: \`onBehalfOf\` of the actor, or one of the first ${limits.delegationSearched} members of its \`delegationChain\``,
        ),
      ),
      resource: Type.Optional(searchedName('The id or the name of the resource, as recorded')),
      tool: Type.Optional(searchedName('The name of the tool')),
      decision: Type.Optional(oneOf(policyActions)),
      ...between,
      cursor: cursorQuery,
      limit: limitQuery(limits.eventPageDefault, limits.eventPageMax),
    }),
    success: {
      200: Type.Object({
        events: Type.Array(AuditEvent),
        nextCursor: nullable(
          Type.String({
            description: `A page looks at no more than ${limits.searchLeaves} events, so it may be short or empty before the last one`,
          }),
        ),
      }),
    },
    statuses: [400, 401, 500],
  }),
  getEvent: operation({
    method: 'GET',
    path: '/events/{eventId}',
    tag: 'Audit Events',
    stability: 'stable',
    origin: 'specification',
    scope: 'events:read',
    command: 'events get',
    summary: 'Get one event',
    params: exact({ eventId: serviceId('evt') }),
    success: { 200: AuditEvent },
    statuses: [401, 404, 500],
  }),
  listRuns: operation({
    method: 'GET',
    path: '/runs',
    tag: 'Audit Events',
    stability: 'beta',
    origin: 'extension',
    scope: 'events:read',
    command: 'runs list',
    summary: 'List runs, newest first',
    query: exact({
      ...between,
      eventType: Type.Optional(eventType),
      aiSystemId: Type.Optional(clientId('AI system')),
      ...paging,
    }),
    success: { 200: page(Run) },
    statuses: [400, 401, 500],
  }),
} as const;

/** WebSocket operations, outside the table because no handler answers them with a body (contract O7). */
export const streams = {
  streamEvents: operation({
    method: 'GET',
    path: '/events/stream',
    tag: 'Audit Events',
    stability: 'beta',
    origin: 'extension',
    scope: 'events:read',
    summary: 'Follow events live over a WebSocket, one JSON event per message',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      eventType: Type.Optional(eventType),
      after: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: 'Resume after this sequence; default: only new events',
        }),
      ),
    }),
    success: { 101: AuditEvent },
    statuses: [400, 401, 426, 503],
  }),
} as const;
