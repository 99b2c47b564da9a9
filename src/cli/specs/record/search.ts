/** `gov search`, as data. Tested by `test/cli/commands/search/run.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/spec.ts';

export const search = command({
  name: 'search',
  prints: 'results:array cut:array',
  summary: 'Find runs, events, policies and approvals by an id, a name or a word',
  details: [
    'Several words are one text. gov compares it, whole and as recorded, with the ids of runs, events and proofs, and with the actor, those for whom it acts, resource, tool, type, decision and AI system of events.',
    `In policies, approvals and runs, a part of the id, name, tool or reason is enough, in any case of letters. gov looks at the newest ${limits.pageMax} of each.`,
    'It does not look into arguments, results and metadata of events. Each result names the command that shows it.',
  ],
  args: [{ name: 'text', description: 'What to find', variadic: true }],
  examples: [
    'gov search checkout-42',
    'gov search ledger.pay',
    'gov search deny',
    'gov search no-shell -o json',
  ],
});
