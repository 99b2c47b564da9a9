/**
 * Events of organizations and of people who sign in and out (contract O8): in the log of the organization's production
 * home, appended with what they tell of. Names of people and addresses stand in none.
 * Proven by `test/service/access/auth.test.ts` and `test/service/access/auth-sessions.test.ts`.
 */
import type { EventDraft } from '../../core/event/record.ts';
import { sha256 } from '../../core/hash.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredOrganization, StoredSession } from '../../store/port/store.ts';
import type { Telling } from './project-events.ts';
import { systemEvent } from '../system.ts';

/** Somebody signed up. */
export const organizationCreated = (
  { organizationId, name, home }: StoredOrganization,
  { by, ...context }: Telling,
): EventDraft =>
  systemEvent(
    {
      eventType: 'organization.created',
      action: 'create',
      actor: { id: by.id, type: by.type },
      resource: { id: organizationId, type: 'organization' },
      metadata: { name, home: { ...home } },
    },
    context,
  );

/** Why a session ended before its time: its person signed out, or signed in again with its cookie. */
export type EndReason = 'signed_out' | 'replaced';

/** Somebody signed in; the actor is its person. */
export const sessionOpened = (session: StoredSession, context: Omit<Telling, 'by'>): EventDraft =>
  sessionEvent(['session.opened', 'open'], session, context, {
    kind: session.kind,
    expiresAt: formatTimestamp(session.expiresMs),
  });

export const sessionClosed = (
  session: StoredSession,
  context: Omit<Telling, 'by'>,
  reason: EndReason,
): EventDraft => sessionEvent(['session.closed', 'close'], session, context, { kind: session.kind, reason });

const sessionEvent = (
  [eventType, action]: readonly [eventType: string, action: string],
  { digest, userId }: StoredSession,
  context: Omit<Telling, 'by'>,
  metadata: Readonly<Record<string, string>>,
): EventDraft =>
  systemEvent(
    {
      eventType,
      action,
      actor: { id: userId, type: 'person' },
      resource: { id: sessionName(digest), type: 'session' },
      metadata,
    },
    context,
  );

/** Tells sessions apart without the digest by which one is found: half of its SHA-256, in hex. */
const sessionName = (digest: Uint8Array): string => sha256(digest).toString('hex').slice(0, 32);
