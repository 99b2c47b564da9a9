/**
 * Fills the template of an answer with the ids and leaf hashes of the events of its request.
 * Proven by `test/store/suite/log/repeats.ts`.
 */
import type { IdempotencyWrite, StoredResponse, TextTemplate } from './repeats.ts';
import type { LeafOutcome } from './request.ts';

/** Returns the answer to store. An answer without event ids stays unchanged. */
export function answerOf(
  response: IdempotencyWrite['response'],
  assigned: readonly LeafOutcome[],
): StoredResponse {
  if (isWritten(response)) return response;
  const { status, body, headers } = response;
  const fill = (template: TextTemplate): string => filled(template, assigned);
  const written = Object.entries(headers).map(([name, template]) => [name, fill(template)] as const);
  return { status, body: fill(body), headers: Object.fromEntries(written) };
}

const isWritten = (response: IdempotencyWrite['response']): response is StoredResponse =>
  typeof response.body === 'string';

function filled({ pieces, event, conflict }: TextTemplate, assigned: readonly LeafOutcome[]): string {
  const { before, beforeHash, after } = event;
  const text = (piece: string | number): string => {
    if (typeof piece === 'string') return piece;
    const place = assigned[piece];
    if (place?.outcome === 'conflict') return conflict;
    if (typeof place?.eventId === 'string') {
      const hash = beforeHash === undefined ? '' : beforeHash + String(place.leafHash);
      return before + place.eventId + hash + after;
    }
    if (place?.eventId === null) return String(place.index);
    throw new Error(
      `expected a stored leaf at leaf ${piece} of the request, got ${place?.outcome ?? 'none'}`,
    );
  };
  return pieces.map(text).join('');
}
