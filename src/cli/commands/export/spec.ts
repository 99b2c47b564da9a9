/** Hand-made commands of the noun export, as data. */
import { command } from '../../program/command.ts';
import { exportFormats, exportResources } from '../../../contract/exports.ts';

const exportId = { name: 'exportId', description: 'Export, such as exp_…' } as const;

const asked = {
  resource: {
    type: 'string',
    choices: exportResources,
    value: 'WHAT',
    required: true,
    description: 'What to export',
  },
  format: {
    type: 'string',
    choices: exportFormats,
    value: 'FORMAT',
    description: 'json (default) or csv, which spreadsheets open without running anything',
  },
  run: { type: 'string', value: 'RUN', description: 'Of this run alone' },
  eventType: { type: 'string', value: 'TYPE', description: 'Events of this type alone; audit_events alone' },
  status: { type: 'string', value: 'STATUS', description: 'Of this status alone; jobs and replays alone' },
  since: { type: 'time', value: 'TIME', description: 'From this time on: 2026-01-31T09:00:00Z, or 24h ago' },
  until: { type: 'time', value: 'TIME', description: 'Up to this time' },
  proof: {
    type: 'boolean',
    description: 'Each row with what proves it, so that gov proofs verify needs nobody else; json alone',
  },
} as const;

const output = {
  out: {
    type: 'string',
    short: 'O',
    value: 'FILE',
    description:
      'Write to this file; - is standard output. Without it, RESOURCE-EXPORT.FORMAT in this folder',
  },
  force: { type: 'boolean', description: 'Replace the file where it is there already' },
  ndjson: {
    type: 'boolean',
    description: 'One row per line, without what stands around the rows; of json alone',
  },
  verify: {
    type: 'boolean',
    description: 'Verify what was downloaded, as gov proofs verify does, before it gets its name',
  },
  key: {
    type: 'strings',
    value: 'VKEY',
    description: 'Trust this verifier key (C2SP signed-note); repeatable',
  },
  trust: { type: 'string', value: 'FILE', description: 'Trust the keys of this file (C2SP tlog-policy)' },
} as const;

const downloading =
  'What is received goes to FILE.EXPORT.part. A download that was cut is continued, by itself and when it is run again; the file gets its name once all of it is there and its SHA-256 is the one that the service told. A file that is there is never replaced without --force.';

const exitCodes = {
  2: 'the file is there already, or nobody is trusted for --verify',
  3: 'not verified; what was downloaded is FILE.EXPORT.part',
  6: 'not complete yet, failed, or expired',
} as const;

export const exportCreate = command({
  name: 'export create',
  summary: 'Ask for a file of all rows of a resource, as the log stands now',
  changes: true,
  details: ['With --wait it answers once the export is complete, at most --timeout later.'],
  flags: {
    ...asked,
    wait: { type: 'boolean', description: 'Wait until it is complete, at most --timeout' },
  },
  examples: [
    'gov export create --resource audit_events --run checkout-42 --proof',
    'gov export create --resource policy_evaluations --format csv --since 24h --wait',
  ],
  exitCodes: { 1: 'the export failed', 8: 'it was not complete within --timeout; it goes on' },
});

export const exportDelete = command({
  name: 'export delete',
  summary: 'End an export before its time: its file is removed from the service',
  details: [
    'What a project keeps is bounded, in number and bytes; what is deleted makes room. Files that were downloaded stay.',
  ],
  changes: true,
  args: [exportId],
  examples: ['gov export delete exp_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
  exitCodes: { 6: 'not complete yet' },
});

export const exportDownload = command({
  name: 'export download',
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
  summary: 'Ask for an export, wait for it, download it',
  changes: true,
  details: [downloading],
  flags: { ...asked, ...output },
  examples: [
    'gov export run --resource audit_events --proof --verify -O events.json',
    'gov export run --resource jobs --format csv -O -',
  ],
  exitCodes: { ...exitCodes, 1: 'the export failed', 8: 'it was not complete within --timeout; it goes on' },
});
