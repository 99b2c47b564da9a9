/** `gov erase`, as data. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/command.ts';

export const erase = command({
  name: 'erase',
  summary: 'Erase values of an event or decision, or all about a subject; hashes and proofs stay',
  changes: { without: 'dryRun' },
  details: [
    'What is erased is gone for good. The log keeps the digests and says which erasure took them; proofs verify as before.',
    'With a master key a subject has a key, which goes with its last values: then no older copy of them can be read.',
    'A subject is found where the project has subjectPointers, in what was recorded since they were set.',
  ],
  flags: {
    event: {
      type: 'string',
      value: 'ID',
      description: 'The event, evaluation or risk decision: evt_…, pev_… or rsk_…',
    },
    field: {
      type: 'strings',
      value: 'POINTER',
      description: 'Only this member of it, such as /actor/id or /metadata; repeatable',
    },
    subject: {
      type: 'string',
      value: 'VALUE',
      description: `All about this subject; - reads it from standard input. At most ${limits.subjectValueChars} characters`,
    },
    reason: {
      type: 'string',
      value: 'CODE',
      pattern: '^[a-z][a-z0-9_]{0,63}$',
      description: 'A word that stands in the log in clear, such as subject_request',
    },
    dryRun: { type: 'boolean', description: 'Count what would go, erase nothing' },
    request: {
      type: 'string',
      value: 'TEXT',
      description: 'What a dry run of another person gave, where the project asks for two',
    },
  },
  examples: [
    'gov erase --event evt_01jq3v5k8hf7wb3c9x2m4n6p8r --field /metadata/card --reason subject_request',
    'gov erase --subject cus_4711 --dry-run',
    'printf %s "$CUSTOMER" | gov erase --subject - --reason subject_request --yes',
  ],
  exitCodes: {
    4: 'the project asks for two people',
    6: 'a legal hold is set, or the project names no subjects',
  },
});
