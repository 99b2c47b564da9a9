/** Sources of received telemetry: what each sent, and what is missing (contract P18). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { nullable, page, pageQuery, timestamp } from './shapes.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

const Source = Type.Object({
  service: Type.String({ description: 'service.name' }),
  instance: nullable(Type.String({ description: 'service.instance.id' })),
  firstSeenAt: timestamp('Server time of its first request'),
  lastSeenAt: timestamp('Server time of its newest request'),
  kept: count('Records that gave events'),
  repeated: count('Records that the project had already'),
  filtered: count('Records that say nothing about an agent'),
  rejected: count('Records that were refused'),
  metrics: count('Metrics, which are not recorded'),
  silent: Type.Boolean({
    description: `Its service sent for ${limits.sourceSilentHours} hours or more, and then nothing for longer than that`,
  }),
  missing: count('Numbers that are missing from its sessions (event.sequence)'),
  clockOffsetMs: nullable(
    Type.Integer({
      description:
        'The smallest time between a record and its arrival; below zero: the clock of the source is ahead',
    }),
  ),
});
export type Source = Static<typeof Source>;

const SourceDay = Type.Object({
  day: Type.String({ description: 'A day of UTC, such as 2026-11-29' }),
  service: Type.String({ description: 'service.name' }),
  instance: nullable(Type.String({ description: 'service.instance.id' })),
  spans: count('Spans that came'),
  logs: count('Log records that came'),
  metrics: count('Metrics that came'),
  recorded: count('Records with an event of their own'),
  observed: count('Records of what others had recorded: an observation says so'),
  inherited: count('Records that were sent again, and messages of earlier requests'),
  bookkeeping: count('Records without anything about an agent, and metrics'),
  rejected: count('Records that were refused'),
  remainder: nullable(
    Type.Object(
      { where: Type.String(), why: Type.String() },
      { description: 'The first record that was refused' },
    ),
  ),
  balanced: Type.Boolean({
    description: 'spans + logs + metrics = recorded + observed + inherited + bookkeeping + rejected',
  }),
});
export type SourceDay = Static<typeof SourceDay>;

export const sources = {
  listSourceDays: operation({
    method: 'GET',
    path: '/sources/days',
    tag: 'Audit Events',
    stability: 'beta',
    origin: 'extension',
    scope: 'events:read',
    command: 'sources balance',
    summary: 'List the balance of received telemetry by day and source: what came, and what became of it',
    query: pageQuery,
    success: { 200: page(SourceDay) },
    statuses: [400, 401, 500],
  }),
  listSources: operation({
    method: 'GET',
    path: '/sources',
    tag: 'Audit Events',
    stability: 'beta',
    origin: 'extension',
    scope: 'events:read',
    command: 'sources list',
    summary: 'List the sources of received telemetry, with what they sent and what is missing',
    query: pageQuery,
    success: { 200: page(Source) },
    statuses: [400, 401, 500],
  }),
} as const;
