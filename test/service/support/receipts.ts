/** Receipts of answers, as a client reads and verifies them. */
import { expect } from 'vitest';
import { parseHash } from '../../../src/core/hash.ts';
import { eventIndex } from '../../../src/core/id.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import type { Trust } from '../../../src/core/note/trust.ts';
import { verifyReceipt, type VerifiedReceipt } from '../../../src/core/receipt/cose.ts';
import type { Answer } from '../../support/answer.ts';

/** What an answer says about an accepted event. */
export interface Item {
  readonly eventId: string;
  readonly leafHash: string;
}

/** `keys`: the text that `GET /log/key` answered. */
export function trustIn(keys: string): Trust {
  const parsed = keys.trim().split('\n').map(parseVerifierKey);
  return { origin: parsed[0]?.name ?? '', keys: parsed, witnesses: [], quorum: 0 };
}

export function bytesOf({ headers }: Answer): Buffer {
  expect(headers['gov-receipt']).toMatch(/^[\w-]+$/);
  return Buffer.from(String(headers['gov-receipt']), 'base64url');
}

export const hashOf = ({ leafHash }: Item): Buffer => parseHash(leafHash)!;
export const indexOf = ({ eventId }: Item): number => eventIndex(eventId)!;

/** Verifies the receipt of an answer with the hashes of these items. */
export const verified = (answer: Answer, items: readonly Item[], trust: Trust): VerifiedReceipt =>
  verifyReceipt(bytesOf(answer), items.map(hashOf), trust);

export const itemsOf = ({ body }: Answer): Item[] => body.results as Item[];
