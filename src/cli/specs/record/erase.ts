/** `gov erase`, as data. Tested by `test/cli/commands/erase/run.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';

export const erase = command({
  name: 'erase',
  prints: 'erasureIds:array leaves:integer fields:integer dryRun:boolean keyDestroyed:boolean request?',
  summary: 'Erase values of an event or decision, or all data about a subject; hashes and proofs stay',
  changes: { without: 'dryRun' },
  details: [
    'Erasure is permanent. The log keeps the digests and records the erasure; proofs still verify.',
    'With a master key each subject has a key. gov deletes it with the subject’s last values, so that older copies become unreadable.',
    'gov finds a subject if the project has subjectPointers, in events recorded since then.',
  ],
  flags: {
    event: flag.text('ID', 'The event, evaluation or risk decision: evt_…, pev_… or rsk_…'),
    field: flag.list('POINTER', 'Only this member, such as /actor/id or /metadata; repeatable'),
    subject: flag.text(
      'VALUE',
      `All data about this subject; - reads it from standard input. At most ${limits.subjectValueChars} characters`,
    ),
    reason: flag.text('CODE', 'Reason code, which the log stores in clear, such as subject_request', {
      pattern: '^[a-z][a-z0-9_]{0,63}$',
    }),
    dryRun: flag.on('Count the values, and erase nothing'),
    request: flag.text('TEXT', 'Output of a dry run by another credential, if the project requires two'),
  },
  examples: [
    'gov erase --event evt_01jq3v5k8hf7wb3c9x2m4n6p8r --field /metadata/card --reason subject_request',
    'gov erase --subject cus_4711 --dry-run',
    'printf %s "$CUSTOMER" | gov erase --subject - --reason subject_request --yes',
  ],
  exitCodes: {
    4: 'the project requires two credentials',
    6: 'a legal hold is set, or the project has no subjectPointers',
  },
});
