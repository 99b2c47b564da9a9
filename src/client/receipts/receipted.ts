/**
 * The answer to recorded events, with its receipt (contract P29), as `onReceipt` of a client gets it. It loads nothing,
 * because hooks use it. Tested by `test/client/receipts/kept-answers.test.ts`.
 */
import { isObject } from '../../core/json/object.ts';

export interface ReceiptedAnswer {
  /** COSE, base64url, as the header of the answer had it. */
  readonly receipt: string;
  /** The stored events, in order. */
  readonly results: readonly {
    readonly eventId: string;
    readonly leafHash: string;
    readonly status: 'accepted';
  }[];
}

/** The name of the header, as the client has it. */
export const receiptHeader = 'gov-receipt';

/** Null for an answer that has no receipt, or that names no stored event with its leaf. Attacker controlled. */
export function receiptedAnswer(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: unknown,
): ReceiptedAnswer | null {
  const receipt = headers[receiptHeader];
  if (typeof receipt !== 'string' || !isObject(body)) return null;
  const items: readonly unknown[] = Array.isArray(body['results']) ? body['results'] : [body];
  const results = items.flatMap((each) => {
    if (!isObject(each)) return [];
    const { eventId, leafHash, status = 'accepted' } = each;
    if (typeof eventId !== 'string' || typeof leafHash !== 'string' || status !== 'accepted') return [];
    return [{ eventId, leafHash, status } as const];
  });
  return results.length === 0 ? null : { receipt, results };
}
