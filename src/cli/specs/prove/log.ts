/**
 * Commands of the log on disk, as data.
 * Tested by `test/cli/commands/log/fsck.test.ts` and `test/cli/commands/log/prune.test.ts`.
 */
import { command, flag } from '../../program/spec.ts';
import { data } from '../../program/data-flag.ts';

export const logCheckpoint = command({
  name: 'log checkpoint',
  prints: 'none',
  summary: 'Print the newest signed checkpoint of the log, to store on another machine',
  details: [
    'A stored checkpoint can prove later that a log lost entries: gov plane restore --last-checkpoint.',
  ],
  flags: {
    out: flag.text('FILE', 'Write to this file, replaced as a whole', { short: 'O' }),
  },
  examples: ['gov log checkpoint --out newest.txt', 'gov log checkpoint | ssh elsewhere tee newest.txt'],
});

export const logEntries = command({
  name: 'log entries',
  prints: 'file records:integer sizeBytes:integer',
  summary: 'Write every record of the log to a file, so that anybody derives its index',
  details: [
    'Records have ids, types, times and digests, and no values. The file begins with the newest signed checkpoint. gov proofs verify --entries FILE derives the index of the log from it.',
    'With --since the file has the newer records and the 8,192 before them, for gov witness add by an index witness that has cosigned the first N records. A verifier needs every record.',
  ],
  flags: {
    out: flag.text('FILE', 'Write to this file', { short: 'O', required: true }),
    since: flag.integer(
      'N',
      'Only what an index witness needs that has cosigned N records: the size in gov witness logs',
      {
        minimum: 1,
      },
    ),
  },
  examples: ['gov log entries --out acme.goventries', 'gov log entries --since 1200 --out newer.goventries'],
});

export const logRecover = command({
  name: 'log recover',
  prints: 'dataDir projectId epoch:integer origin meteringOrigin previous:array archive:object',
  summary: 'Start a new log if the old one is behind a signed checkpoint and no newer copy exists',
  details: [
    'Makes a plane with the same project and keys. The first leaves of its new logs name the old logs and the reason. ' +
      'Events, policies and API keys of the old plane stay in its directory. Keep it as an archive: verify and prove ' +
      'from it, but never serve it. Then publish policies, create keys and enrol again.',
  ],
  args: [{ name: 'from', description: 'Data directory whose log is behind, as gov plane restore leaves it' }],
  flags: {
    data: flag.text('DIR', 'Data directory to make', { required: true }),
    reason: flag.text('TEXT', 'Reason, which the log stores', { required: true, maxLength: 1000 }),
  },
  exitCodes: { 6: 'the old log can continue, or the directory is not empty' },
  examples: ['gov log recover ./restored --data ./gov-data-2 --reason "disk lost on 20 November"'],
});

export const logFsck = command({
  name: 'log fsck',
  prints:
    'ok:boolean problems:array projects:integer found:integer leaves:integer checkpoints:integer unopened:integer deep:boolean',
  summary: 'Check the whole log on disk: records, hashes, tree, checkpoints',
  flags: {
    data,
    deep: flag.on('Also check every disclosure, metering reference and signature, and the database file'),
  },
  examples: ['gov log fsck', 'gov log fsck --deep -o json'],
  exitCodes: { 0: 'whole', 2: 'it could not be read', 3: 'broken' },
});

export const logIndexBuild = command({
  name: 'log index build',
  prints: 'projectId size:integer leafIndex:integer',
  summary: 'Index the log now, so that bundles show that no event is missing',
  details: [
    'A serving process does this in the background. Use it for a log from before, or before a prune.',
    'Stop a plane first. For a service, --project-id names the log; stop a service on SQLite first.',
  ],
  flags: {
    data,
    projectId: flag.text('ID', 'Project of a service'),
  },
  examples: ['gov log index build', 'gov log index build --data /var/lib/gov'],
  exitCodes: { 6: 'it is being served, or events were pruned before the log had an index' },
});

export const logPrune = command({
  name: 'log prune',
  prints:
    'projectId from:integer to:integer archive:string|null archiveHash:string|null archiveBytes:integer',
  summary: 'Move old events from the store to an archive; hashes stay, and proofs still verify',
  details: [
    'gov writes the archive, reads it back and checks it against a signed checkpoint before it removes events. Keep the archive: it is the only copy.',
    'Stop a plane first. For a service, --project-id names the log; stop a service on SQLite first.',
  ],
  flags: {
    data,
    projectId: flag.text('ID', 'Project of a service'),
    before: flag.time(
      'TIME',
      'Remove events recorded before this time; in production at least 183 days ago',
      { required: true },
    ),
    archive: flag.text('FILE', 'New file for the events', { required: true }),
    dryRun: flag.on('Show what would be removed, and change nothing'),
  },
  examples: [
    'gov log prune --before 2026-01-01T00:00:00Z --archive audit-2025.ndjson.gz',
    'gov log prune --before 400d --archive old.ndjson.gz --dry-run',
  ],
  exitCodes: { 6: 'it is being served, a legal hold is set, or the file exists' },
});

export const logCompact = command({
  name: 'log compact',
  prints: 'dataDir beforeBytes:integer afterBytes:integer',
  summary: 'Rewrite the database, so that no page keeps copies of erased or pruned data',
  details: [
    'gov log prune does this itself, and so does a stop after an erasure, up to 512 MiB. It needs free space of twice the size of the database, in its folder and in the one for temporary files (SQLITE_TMPDIR).',
    'Stop the plane or service first. A service on PostgreSQL uses VACUUM FULL instead.',
  ],
  flags: {
    data,
  },
  examples: ['gov log compact', 'gov log compact --data /var/lib/gov'],
  exitCodes: { 6: 'it is being served' },
});

export const logLossesList = command({
  name: 'log losses list',
  prints: 'losses[] projectId from:integer lost:integer at acked:object',
  summary: 'List acknowledged leaves that the database lost, until gov log losses ack',
  details: [
    'An older copy of the database took over: a standby that lagged, or a restored backup. Each log has a gov.loss/1 leaf about it.',
  ],
  flags: {
    data,
  },
  examples: ['gov log losses list', 'gov log losses list --data /var/lib/gov -o json'],
});

export const logLossesAck = command({
  name: 'log losses ack',
  prints: 'losses:integer lost:integer',
  summary: 'Acknowledge the listed losses: health names them no longer; the logs keep their leaves',
  flags: {
    data,
  },
  examples: ['gov log losses ack'],
});
