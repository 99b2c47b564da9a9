/** Commands of the noun export, as data. Tested by `test/cli/download/run.long.test.ts`. */
import { command, flag } from '../../program/spec.ts';
import { trusted } from '../../program/trusted.ts';
import { exportFormats, exportResources } from '../../../contract/exports.ts';

const exportId = { name: 'exportId', description: 'Export, such as exp_…' } as const;

const asked = {
  resource: flag.text('WHAT', 'Resource to export', { choices: exportResources, required: true }),
  format: flag.text('FORMAT', 'json (default), or csv, which is safe in spreadsheets', {
    choices: exportFormats,
  }),
  run: flag.text('RUN', 'Only this run'),
  eventType: flag.text('TYPE', 'Only events of this type (audit_events)'),
  status: flag.text('STATUS', 'Only this status (jobs and replays)'),
  since: flag.time('TIME', 'From this time on: 2026-01-31T09:00:00Z, or 24h ago'),
  until: flag.time('TIME', 'Up to this time'),
  proof: flag.on('Include a proof of each row, for gov proofs verify without the service (json)'),
} as const;

const output = {
  out: flag.text(
    'FILE',
    'Write to this file; - is standard output. Default: RESOURCE-EXPORT.FORMAT in this folder',
    { short: 'O' },
  ),
  force: flag.on('Replace an existing file'),
  ndjson: flag.on('Only the rows, one per line (json)'),
  verify: flag.on('Verify the download, as gov proofs verify does, before it gets its name'),
  ...trusted,
} as const;

const downloading =
  'The download goes to FILE.EXPORT.part. gov continues an interrupted download by itself, and after a new start. The file gets its name once it is complete and has the SHA-256 that the service sent. gov replaces an existing file only with --force.';

const exitCodes = {
  2: 'the file exists, or no key is trusted for --verify',
  3: 'not verified; the download is in FILE.EXPORT.part',
  6: 'not complete yet, failed, or expired',
} as const;

export const exportCreate = command({
  name: 'export create',
  prints: '=createExport|getExport',
  summary: 'Create an export of all rows of a resource, as of now',
  changes: true,
  details: ['With --wait the command returns after the export is complete, at most after --timeout.'],
  flags: {
    ...asked,
    wait: flag.on('Wait until it is complete, at most --timeout'),
  },
  examples: [
    'gov export create --resource audit_events --run checkout-42 --proof',
    'gov export create --resource policy_evaluations --format csv --since 24h --wait',
  ],
  exitCodes: { 1: 'the export failed', 8: 'not complete within --timeout; it continues at the service' },
});

export const exportDelete = command({
  name: 'export delete',
  prints: 'none',
  summary: 'Delete an export and its file from the service',
  details: [
    'A project may keep a limited number and size of exports; deleting one makes room. Downloaded files stay.',
  ],
  changes: true,
  args: [exportId],
  examples: ['gov export delete exp_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
  exitCodes: { 6: 'not complete yet' },
});

export const exportDownload = command({
  name: 'export download',
  prints:
    'exportId file rowCount:integer|null sizeBytes:integer sha256 | verified:boolean code:string|null resource:string|null exportId:string|null requestedBy:string|null generatedAt:string|null manifest:object|null signatures:array missingAlgorithms:array completeness:object checks:array digests:object|null notes:array source trustedOrigin:string|null trustFrom:string|null explanations?:any',
  summary: 'Download a completed export',
  args: [exportId],
  details: [downloading],
  flags: output,
  examples: [
    'gov export download exp_01jq3v5k8hf7wb3c9x2m4n6p8r',
    'gov export download exp_01jq3v5k8hf7wb3c9x2m4n6p8r -O events.json --verify',
    'gov export download exp_01jq3v5k8hf7wb3c9x2m4n6p8r --ndjson -O - | jq .eventType',
  ],
  exitCodes,
});

export const exportRun = command({
  name: 'export run',
  prints:
    'exportId file rowCount:integer|null sizeBytes:integer sha256 | verified:boolean code:string|null resource:string|null exportId:string|null requestedBy:string|null generatedAt:string|null manifest:object|null signatures:array missingAlgorithms:array completeness:object checks:array digests:object|null notes:array source trustedOrigin:string|null trustFrom:string|null explanations?:any',
  summary: 'Create an export, wait for it and download it',
  changes: true,
  details: [downloading],
  flags: { ...asked, ...output },
  examples: [
    'gov export run --resource audit_events --proof --verify -O events.json',
    'gov export run --resource jobs --format csv -O -',
  ],
  exitCodes: {
    ...exitCodes,
    1: 'the export failed',
    8: 'not complete within --timeout; it continues at the service',
  },
});
