/** Forward targets of the operator: how far each is (contract P10). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { operation } from './operation.ts';
import { nullable, oneOf, page, timestamp } from './shapes.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

const Gap = Type.Object({
  from: count('First leaf that was pruned before it was sent'),
  to: count('The leaf after the last one'),
  at: timestamp('When this was noticed'),
});

const Forward = Type.Object({
  name: Type.String(),
  to: nullable(Type.String({ description: 'Address; null on a service, whose operator alone knows it' })),
  format: Type.String(),
  state: oneOf(['new', 'current', 'behind', 'failing']),
  position: count('Index of the first leaf that the receiver has not confirmed'),
  treeSize: count('Leaves of the log'),
  lag: count('Leaves that the receiver has not confirmed'),
  behindSince: nullable(timestamp('Since when it is behind the log')),
  records: count('Records that the receiver confirmed'),
  refused: count('Records that the receiver refuses for good'),
  lastDeliveredAt: nullable(timestamp('When it last confirmed records')),
  lastError: nullable(Type.String({ description: 'Null on a service' })),
  lastErrorAt: nullable(timestamp('When it last failed')),
  retryAt: nullable(timestamp('When it is tried again')),
  gaps: Type.Array(Gap, { description: 'The newest leaves that were lost, newest first' }),
});
export type Forward = Static<typeof Forward>;

export const forwards = {
  listForwards: operation({
    method: 'GET',
    path: '/operations/forwards',
    tag: 'Operations',
    stability: 'beta',
    origin: 'extension',
    scope: 'log:read',
    command: 'forward status',
    summary: 'Show how far each forward target is, and what it failed with last',
    success: { 200: page(Forward) },
    statuses: [401, 500],
  }),
} as const;
