/** `gov log prune` and `gov log compact`, as data. */
import { command } from '../../program/command.ts';

export const logPrune = command({
  name: 'log prune',
  summary: 'Move old events out of the store into an archive; hashes stay, and proofs verify as before',
  details: [
    'The archive is written, read back and checked against a signed checkpoint before anything goes. Keep it: what is pruned is nowhere else.',
    'A plane must not be serving. Of a service --project-id names the log; on SQLite it must not be serving either.',
  ],
  flags: {
    data: { type: 'string', value: 'DIR', description: 'Data directory; default that of the chosen context' },
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
    data: { type: 'string', value: 'DIR', description: 'Data directory; default that of the chosen context' },
  },
  examples: ['gov log compact', 'gov log compact --data /var/lib/gov'],
  exitCodes: { 6: 'it is served' },
});
