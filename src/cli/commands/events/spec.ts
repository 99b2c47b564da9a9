/** Hand-made commands of the nouns events and runs, as data. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/command.ts';

export const eventsPush = command({
  name: 'events push',
  summary: 'Record events, or recordings of other programs, from files or standard input',
  changes: { without: 'dryRun' },
  details: [
    'Events come as NDJSON (one object per line), a JSON array, or CSV whose header names fields (runId, actor.name, metadata.amount). Each event is judged alone; events of one run arrive in the order of the input.',
    'A repeated push records nothing twice: batches are cut by the content of a file, and a batch counts once within 24 hours. Events with a clientEventId count once for ever.',
    'With --spool every batch is on the disk before it is sent, so nothing is lost when the service is away or this process dies; --resume sends what is left and goes on in the files where it stopped. A directory of your own is given as --spool=DIR.',
    'With --from recordings of agents are imported: chat messages with tool calls and τ-bench results, OpenHands, SWE-agent and mini-swe-agent, Langfuse traces. Content over a limit is kept as hash, size and beginning, and counted.',
  ],
  args: [
    { name: 'file', description: 'Files; - or none for standard input', optional: true, variadic: true },
  ],
  flags: {
    format: {
      type: 'string',
      choices: ['auto', 'ndjson', 'json', 'csv'],
      value: 'FORMAT',
      description: 'Format of the events; default auto',
    },
    from: {
      type: 'string',
      choices: ['auto', 'openai-chat', 'openhands', 'swe-agent', 'langfuse'],
      value: 'SOURCE',
      description: 'Import recordings made by',
    },
    run: { type: 'string', value: 'RUN', description: 'Run id for a recording of one run' },
    runPrefix: { type: 'string', value: 'TEXT', description: 'Beginning of the run ids of recordings' },
    importTime: {
      type: 'time',
      value: 'TIME',
      description: 'Time of events whose recording has none; default when it was first imported here',
    },
    batchSize: {
      type: 'integer',
      minimum: 1,
      maximum: limits.batchEvents,
      value: 'N',
      description: `Events per request; default and most ${limits.batchEvents}`,
    },
    concurrency: {
      type: 'integer',
      minimum: 1,
      maximum: limits.pushConcurrency,
      value: 'N',
      description: 'Requests at a time; default 1',
    },
    spool: {
      type: 'string',
      value: 'DIR',
      description: 'Keep batches on disk until they are recorded; alone, in the state directory',
    },
    resume: { type: 'boolean', description: 'Send what the spool holds, and go on in its files' },
    dryRun: { type: 'boolean', description: 'Judge the events here and send nothing' },
    failOn: {
      type: 'string',
      choices: ['rejected', 'none'],
      value: 'WHAT',
      description: 'What ends with exit code 9; default rejected',
    },
  },
  exitCodes: {
    0: 'all events were recorded',
    2: 'the input cannot be read; the message names file and line',
    9: 'some events were rejected, all others recorded',
    10: 'the service was not reached; with --spool the events are safe on disk',
  },
  examples: [
    'gov events push events.ndjson',
    'my-agent | gov events push - --spool',
    'gov events push --resume --spool',
    'gov events push --from auto gpt-4o-airline.json',
    'gov events push events.csv --dry-run -o ndjson',
  ],
});

export const eventsTail = command({
  name: 'events tail',
  summary: 'Follow events as they are recorded',
  details: [
    'Into a pipe: one JSON object per line. After a broken connection it goes on where it was. Ends with Ctrl-C.',
  ],
  flags: {
    run: { type: 'string', value: 'RUN', description: 'Only events of this run' },
    type: { type: 'string', value: 'TYPE', description: 'Only events of this type' },
    after: {
      type: 'integer',
      value: 'N',
      description: 'Begin after this sequence; without it, with what comes next',
    },
    count: { type: 'integer', minimum: 1, value: 'N', description: 'End after this many events' },
  },
  examples: [
    'gov events tail',
    'gov events tail --run checkout-42',
    'gov events tail --after 0 | jq .action',
  ],
});
