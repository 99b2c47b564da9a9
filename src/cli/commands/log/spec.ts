/** Commands of the log on disk, as data. */
import { command } from '../../program/spec.ts';
import { data } from '../../program/data-flag.ts';

export const logCheckpoint = command({
  name: 'log checkpoint',
  summary: 'Print the newest signed checkpoint of the log, to be kept elsewhere',
  details: ['Who keeps it can prove later that a log lost something: gov plane restore --last-checkpoint.'],
  flags: {
    out: { type: 'string', value: 'FILE', short: 'O', description: 'Write it there, whole or not at all' },
  },
  examples: ['gov log checkpoint --out newest.txt', 'gov log checkpoint | ssh elsewhere tee newest.txt'],
});

export const logRecover = command({
  name: 'log recover',
  summary: 'Begin a new log where the old one is behind what was signed and nothing newer is left',
  details: [
    'Makes a plane with the same project and keys, and new logs whose first leaves say which logs they follow and why. ' +
      'Events, policies and API keys of the old one stay in its directory, which is kept as an archive: to verify, to ' +
      'prove from, never to serve. Publish policies again, make keys again, enrol again.',
  ],
  args: [{ name: 'from', description: 'Data directory whose log is behind, as gov plane restore leaves it' }],
  flags: {
    data: { type: 'string', value: 'DIR', required: true, description: 'Data directory to make' },
    reason: {
      type: 'string',
      value: 'TEXT',
      required: true,
      maxLength: 1000,
      description: 'Why; stands in the log',
    },
  },
  exitCodes: { 6: 'the log can go on, or the directory holds something' },
  examples: ['gov log recover ./restored --data ./gov-data-2 --reason "disk lost on 20 November"'],
});

export const logFsck = command({
  name: 'log fsck',
  summary: 'Check the whole log on disk: records, hashes, tree, checkpoints',
  flags: {
    data,
    deep: {
      type: 'boolean',
      description: 'Also every disclosure, metering reference, signature, and the file itself',
    },
  },
  examples: ['gov log fsck', 'gov log fsck --deep -o json'],
  exitCodes: { 0: 'whole', 2: 'it could not be read', 3: 'broken' },
});

export const logPrune = command({
  name: 'log prune',
  summary: 'Move old events out of the store into an archive; hashes stay, and proofs verify as before',
  details: [
    'The archive is written, read back and checked against a signed checkpoint before anything goes. Keep it: what is pruned is nowhere else.',
    'A plane must not be serving. Of a service --project-id names the log; on SQLite it must not be serving either.',
  ],
  flags: {
    data,
    projectId: { type: 'string', value: 'ID', description: 'Project of a service' },
    before: {
      type: 'time',
      value: 'TIME',
      required: true,
      description: 'Events recorded before it go; in production at least 183 days ago',
    },
    archive: { type: 'string', value: 'FILE', required: true, description: 'New file that they go to' },
    dryRun: { type: 'boolean', description: 'Say what would go, change nothing' },
  },
  examples: [
    'gov log prune --before 2026-01-01T00:00:00Z --archive audit-2025.ndjson.gz',
    'gov log prune --before 400d --archive old.ndjson.gz --dry-run',
  ],
  exitCodes: { 6: 'it is served, a legal hold is set, or the file exists' },
});

export const logCompact = command({
  name: 'log compact',
  summary: 'Write the database anew, so that no page of it keeps copies of what was erased or pruned',
  details: [
    'A stop after an erasure, and gov log prune, do that by themselves; after an erasure only up to 512 MiB. It needs twice the size of the database as free space, in its folder and in the one for temporary files (SQLITE_TMPDIR).',
    'A plane must not be serving, nor a service. A service on PostgreSQL has VACUUM FULL instead.',
  ],
  flags: {
    data,
  },
  examples: ['gov log compact', 'gov log compact --data /var/lib/gov'],
  exitCodes: { 6: 'it is served' },
});
