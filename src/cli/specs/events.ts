/** Hand-made commands of the nouns events and runs, as data. */
import { command } from '../command.ts';

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
