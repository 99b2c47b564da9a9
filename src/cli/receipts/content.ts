/**
 * Whether stored events have what a spool sent. Nobody else can check this, so it is no evidence.
 * Tested by `test/cli/commands/receipts/check.test.ts`.
 */
import { GovApiError } from '../../client/errors.ts';
import type { Client } from '../../client/create.ts';
import { canonicalize, type Json } from '../../core/json/canonical.ts';
import { isObject } from '../../core/json/object.ts';

export interface SentEvent {
  readonly event: Json | undefined;
  readonly eventId: string | undefined;
}

/** What differs first; null where nothing does, and where an event was erased or may not be read. */
export async function differsFromStored(
  sent: readonly SentEvent[],
  { client, signal }: { readonly client: Pick<Client, 'getEvent'>; readonly signal: AbortSignal },
): Promise<string | null> {
  for (const { event, eventId } of sent) {
    if (!isObject(event) || eventId === undefined) continue;
    try {
      const { body } = await client.getEvent({ params: { eventId }, signal });
      const stored: Readonly<Record<string, unknown>> = body;
      if (body.erased) continue;
      const name = Object.keys(event).find((each) => !isSame(event[each], stored[each]));
      if (name !== undefined) return `${name} of event ${eventId} is not what the spool sent`;
    } catch (cause) {
      if (!(cause instanceof GovApiError) || (cause.status !== 403 && cause.status !== 404)) throw cause;
    }
  }
  return null;
}

/** Times are stored to the millisecond. */
function isSame(sent: Json | undefined, stored: unknown): boolean {
  if (stored === undefined) return sent === undefined || sent === null;
  if (sent === undefined) return true;
  if (typeof sent === 'string' && typeof stored === 'string' && Date.parse(sent) === Date.parse(stored))
    return true;
  return canonicalize(sent) === canonicalize(stored as Json);
}
