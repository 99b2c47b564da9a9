/** Whose signatures count: flags of commands that verify. */
import { flag } from './spec.ts';

export const trusted = {
  key: flag.list('VKEY', 'Trust this verifier key (C2SP signed-note); repeatable'),
  trust: flag.text('FILE', 'Trust the keys of this file (C2SP tlog-policy)'),
} as const;
