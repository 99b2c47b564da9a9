/**
 * Commands of the noun events, as data.
 * Tested by `test/cli/push/command.test.ts` and `test/cli/commands/events/tail.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { formatNames } from '../../../core/intake/names.ts';
import { events } from '../../../contract/events.ts';
import { flagsOf } from '../../program/manifest.ts';
import { command, flag } from '../../program/spec.ts';
import { asciiFlag } from '../../program/screen-flag.ts';

export const eventsPush = command({
  name: 'events push',
  prints:
    'accepted:integer rejected:integer duplicates:integer known:integer runs:integer imports?:array files?:array others?:array results?:array dryRun?:boolean spool?:object',
  summary: 'Record events, or recordings of other programs, from files or standard input',
  changes: { without: 'dryRun' },
  details: [
    'Events come as NDJSON (one object per line), a JSON array, or CSV whose header names fields (runId, actor.name, metadata.amount). The service judges each event alone. Events of one run arrive in the order of the input.',
    'A repeated push records nothing twice: the content of a file decides its batches, and a batch counts once within 24 hours. An event with a clientEventId counts once permanently.',
    'With --spool every batch is on disk before it is sent, so nothing is lost if the service is down or this process dies. --resume sends the remaining batches and continues in the files where it stopped. --spool=DIR names another directory.',
    'With --from gov imports recordings of agents; gov events formats lists them. --from auto says which format it saw, and why. gov replaces content over a limit by hash, size and beginning, records parts that it does not understand as x.unknown, and counts both.',
    'Each recording is counted twice: by the shape of its JSON, and by what was recorded. A file that does not balance is refused as a whole, with the first place; gov runs balance shows the sums.',
    'A recording that has grown adds what is new to its run. A recording whose run exists with other content is refused as a whole; --run gives it a name of its own.',
    'With --from a folder stands for the recordings below it, such as ~/.claude/projects or ~/.codex/sessions. Each file gets a line; a file that is no recording is named, and one that is refused does not stop the others.',
  ],
  args: [
    {
      name: 'file',
      description: 'Files, or folders with --from; - or none for standard input',
      optional: true,
      variadic: true,
    },
  ],
  flags: {
    format: flag.text('FORMAT', 'Format of the events; default: auto', {
      choices: ['auto', 'ndjson', 'json', 'csv'],
    }),
    from: flag.text('SOURCE', 'Import recordings of this program', { choices: ['auto', ...formatNames] }),
    run: flag.text('RUN', 'Run id for a recording of one run'),
    runPrefix: flag.text('TEXT', 'Prefix of the run ids of recordings'),
    importTime: flag.time(
      'TIME',
      'Time of events without one; default: the time of the first import on this machine',
    ),
    batchSize: flag.integer('N', `Events per request; default and maximum: ${limits.batchEvents}`, {
      minimum: 1,
      maximum: limits.batchEvents,
    }),
    concurrency: flag.integer('N', 'Parallel requests; default: 1', {
      minimum: 1,
      maximum: limits.pushConcurrency,
    }),
    spool: flag.text(
      'DIR',
      'Keep batches on disk until they are recorded; default DIR: in the state directory',
    ),
    resume: flag.on('Send the batches of the spool, and continue in its files'),
    dryRun: flag.on('Check the events here, and send nothing'),
    allowRemainder: flag.on('Record a recording that does not balance, and state what is left out'),
    failOn: flag.text('WHAT', 'Outcome that exits with 9; default: rejected', {
      choices: ['rejected', 'none'],
    }),
  },
  exitCodes: {
    0: 'all events were recorded',
    2: 'the input cannot be read; the message names file and line',
    9: 'some events were rejected, all others recorded',
    10: 'could not reach the service; with --spool the events are safe on disk',
  },
  examples: [
    'gov events push events.ndjson',
    'my-agent | gov events push - --spool',
    'gov events push --resume --spool',
    'gov events push --from auto gpt-4o-airline.json',
    'gov events push --from auto ~/.claude/projects',
    'gov events push events.csv --dry-run -o ndjson',
  ],
});

export const eventsWatch = command({
  name: 'events watch',
  prints:
    'time kind folder?:string file?:string from?:string files?:integer others?:integer became?:string formats?:array runs?:array events?:integer known?:integer refused?:integer refusal?:string reason?:string',
  summary: 'Follow a folder of recordings, and record what is new while it is written',
  changes: true,
  details: [
    'Records the sessions below a folder, and then each line that programs add to them: sessions begin, grow, are renamed, rotated, cut and removed. A last line that is half written waits. gov events push explains what becomes of a recording.',
    'Its place in each file is in the state directory, so that a watch that was killed continues without loss or repetition. If the service cannot be reached, gov says so and waits; the files keep what is new. Ctrl-C ends it.',
    'On a terminal it prints a line for each session that it read, and in a pipe one JSON object a line: kind is watching, taken, renamed, rotated, truncated, vanished, unread, waiting, resumed, forgotten or missing.',
  ],
  args: [{ name: 'folder', description: 'Folder of recordings, such as ~/.claude/projects' }],
  flags: {
    from: flag.text('SOURCE', 'Recordings of this program; default: auto', {
      choices: ['auto', ...formatNames],
    }),
    runPrefix: flag.text('TEXT', 'Prefix of the run ids of recordings'),
    allowRemainder: flag.on('Record a recording that does not balance, and state what is left out'),
    once: flag.on('Record what is new now, and end'),
  },
  exitCodes: {
    0: 'with --once: all that is new was recorded',
    9: 'with --once: a recording was refused, all others recorded',
    10: 'with --once: could not reach the service',
  },
  examples: [
    'gov events watch ~/.claude/projects',
    'gov events watch ~/.codex/sessions -o ndjson >> watched.ndjson',
    'gov events watch ~/.claude/projects --once',
  ],
});

export const eventsList = command({
  name: 'events list',
  prints: '=listEvents|searchEvents',
  summary: 'List the events of a run, or find events of all runs',
  details: [
    'With --run alone: the events of the run in the order of recording. Otherwise the newest recording comes first, and every flag narrows the search.',
    'A search compares whole ids and names, as recorded. TIME is the time of the event, by the clock of the client.',
  ],
  flags: {
    ...flagsOf(events.searchEvents),
    order: flag.text('ORDER', 'Order of the events of a run; default: asc', { choices: ['asc', 'desc'] }),
  },
  examples: [
    'gov events list --run checkout-42',
    'gov events list --decision deny --since 1h',
    'gov events list --tool payments.refund --all -o ndjson',
  ],
});

export const eventsFormats = command({
  name: 'events formats',
  prints:
    'formats[] format about expects maps:array example:any | format about expects maps:array example:any',
  summary: 'List the recordings that events push --from reads, with an example each',
  details: ['With a FORMAT: what becomes of each part of a recording, and a small example to push.'],
  args: [{ name: 'format', description: 'One format in full', optional: true }],
  examples: [
    'gov events formats',
    'gov events formats claude-code',
    'gov events formats mcp -o json | jq .example',
  ],
});

export const eventsTail = command({
  name: 'events tail',
  prints: '=getEvent',
  summary: 'Follow events as they are recorded',
  details: [
    'Prints one JSON object per line into a pipe. After a broken connection it continues at the same event. Ctrl-C ends it.',
  ],
  flags: {
    run: flag.text('RUN', 'Only events of this run'),
    type: flag.text('TYPE', 'Only events of this type'),
    after: flag.integer('N', 'Begin after this sequence; default: at the next event'),
    count: flag.integer('N', 'Stop after this many events', { minimum: 1 }),
    tui: flag.on('Show the events on a screen with a filter; ? shows the keys'),
    ascii: asciiFlag,
  },
  examples: [
    'gov events tail',
    'gov events tail --run checkout-42',
    'gov events tail --after 0 | jq .action',
    'gov events tail --tui',
  ],
});
