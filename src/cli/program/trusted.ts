/** Flags of commands that verify: whose signatures count, and what is remembered. */
import { flag } from './spec.ts';

/** Whose signatures count. */
export const trusted = {
  key: flag.list('VKEY', 'Trust this verifier key (C2SP signed-note); repeatable'),
  trust: flag.text('FILE', 'Trust the keys of this file (C2SP tlog-policy)'),
} as const;

/** By whose word nothing may be missing. */
export const demanded = {
  requireCompleteness: flag.text('STRENGTH', 'Exit 3 where less shows that nothing is missing', {
    choices: ['witnessed', 'derived', 'own_index'],
  }),
  entries: flag.text('FILE', 'Derive the index of the log from these records (gov log entries)'),
} as const;

/** What a verifier remembers of the history of a log. */
export const memory = {
  kept: flag.list(
    'FILE',
    'Also compare with this checkpoint, tlog-proof, proof, answer or file of heads; repeatable',
  ),
  noRemember: flag.on('Do not keep the signed heads of the files on this machine'),
} as const;
