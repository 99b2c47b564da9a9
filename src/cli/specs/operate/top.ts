/** The command top, as data. Tested by `test/cli/screens/top.test.ts`. */
import { command, flag } from '../../program/spec.ts';
import { asciiFlag } from '../../program/screen-flag.ts';

export const top = command({
  name: 'top',
  prints:
    'status reasons:array version:string|null answerMs:number ingest:object checkpoint:object|null integrity:object|null jobs:object|null sources:object|null approvals:object|null time address context:string|null unread:array',
  summary: 'Watch a plane or a service: is it well?',
  details: [
    'A screen with ingest, checkpoint, jobs, approvals, sources and disk, read once a second. It changes nothing. ? shows the keys.',
    'Into a pipe, or with -o ndjson: one JSON object per second. -o json: one object. gov measures p99 and queue on a plane of this machine, from its metrics.',
  ],
  flags: {
    interval: flag.duration('TIME', 'Time between samples, at least 1s; default: 1s'),
    count: flag.integer('N', 'Print N samples instead of a screen', { minimum: 1 }),
    ascii: asciiFlag,
  },
  examples: ['gov top', 'gov top -C production', 'gov top --count 60 | jq .ingest.leavesPerSecond'],
  exitCodes: { 3: 'the last printed sample is degraded or unavailable' },
});
