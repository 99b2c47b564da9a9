/** What an operator asks of an installation: whether stored data is whole, copied and signed (extension, contract N10). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { nullable, oneOf, timestamp } from './shapes.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const tree = oneOf(['audit', 'metering']);

const Finding = Type.Object({
  tree,
  index: Type.Integer({ minimum: 0, description: 'Leaf; for a root, the size of the tree' }),
  detail: Type.String(),
  foundAt: timestamp('When it was found'),
});

const Scrub = Type.Object({
  state: oneOf(['waiting', 'reading']),
  startedAt: timestamp('Start of the running or newest pass'),
  reading: nullable(
    Type.Object(
      { tree, read: count('Leaves read'), of: count('Leaves of this tree') },
      {
        description: 'How far the running pass has read',
      },
    ),
  ),
  nextAt: nullable(timestamp('When the next pass starts')),
  found: count('Places that the running or newest pass found altered'),
  findings: Type.Array(Finding, { description: `The first ${limits.scrubFindings}` }),
  last: nullable(
    Type.Object(
      {
        startedAt: timestamp('Start'),
        completedAt: timestamp('End'),
        leaves: count('Leaves of both logs'),
        found: count('Places found altered'),
      },
      { description: 'The newest complete pass' },
    ),
  ),
});

const Fsck = Type.Object({
  at: timestamp('When gov log fsck ended'),
  ok: Type.Boolean(),
  found: count('Places found altered'),
  leaves: count('Leaves read'),
  deep: Type.Boolean(),
});

const Backup = Type.Object({
  createdAt: timestamp('When gov plane backup made it'),
  ageSeconds: count('Age'),
  out: Type.String({ description: 'The directory of the copy' }),
  withKeys: Type.Boolean(),
  verified: Type.Boolean({ description: 'Whether its newest leaves and every file were checked as written' }),
  present: Type.Boolean({ description: 'Whether the directory still has the manifest of this backup' }),
  leaves: count('Audit leaves in the copy'),
});

const SignedLog = Type.Object({
  tree,
  leaves: count('Leaves of the log now'),
  signed: nullable(
    Type.Object({
      size: count('Leaves that the newest checkpoint covers'),
      signedAt: nullable(timestamp('Signed time; null where no signature binds one')),
      ageSeconds: nullable(count('Age')),
    }),
  ),
  witnessed: nullable(
    Type.Object({
      size: count('Leaves that the newest cosigned checkpoint covers'),
      witnesses: count('Witnesses that cosigned it'),
    }),
  ),
});

const Disk = Type.Object({
  freeBytes: count('Free space'),
  databaseBytes: count('Databases'),
  exportBytes: count('Artifacts of exports'),
  bytesPerDay: nullable(Type.Integer({ description: 'Growth; null while the log is younger than an hour' })),
  daysLeft: nullable(count('Days until the plane is not ready; null where nothing grows')),
});

export const Integrity = Type.Object({
  status: oneOf(['ok', 'attention']),
  reasons: Type.Array(Type.String({ description: 'Begins with a code' })),
  time: timestamp('Server time'),
  scrub: nullable(Scrub),
  fsck: nullable(Fsck),
  backup: nullable(Backup),
  checkpoints: Type.Array(SignedLog),
  clock: Type.Object({
    reasons: Type.Array(Type.String()),
    newestAt: nullable(timestamp('Newest server time of the log')),
  }),
  disk: nullable(Disk),
});
export type Integrity = Static<typeof Integrity>;

export const operations = {
  getIntegrity: operation({
    method: 'GET',
    path: '/operations/integrity',
    tag: 'Operations',
    stability: 'beta',
    origin: 'extension',
    scope: 'log:read',
    command: 'operations integrity',
    summary: 'Whether the stored log is whole: scrub, fsck, backup, checkpoints, clock, disk',
    success: { 200: Integrity },
    statuses: [401, 500],
  }),
} as const;
