/**
 * Recomputes the columns of a project's data planes from its system events, the same for both engines.
 * Each change is one event, in the transaction of the change (`src/service/planes/events.ts`). Memory grows
 * with all planes ever registered: about 500 bytes each.
 * Proven by `test/store/fsck/tamper-planes.test.ts`.
 */
import type { FormerKeys } from '../../../core/planes/identity.ts';
import { formerKeysText } from '../../rules/plane-row.ts';
import { text, time, type TenantEvent, type KnownColumns } from './project-life.ts';

/** The columns that an event changes in an existing row, without its revision. */
const changedBy: Readonly<Record<string, readonly string[]>> = {
  'telemetry.plane_registered': [],
  'telemetry.plane_token_issued': ['token_used_ms'],
  'telemetry.plane_enrolled': [
    'token_used_ms',
    'enrolled_ms',
    'origin',
    'audit_origin',
    'verifier_key',
    'audit_verifier_key',
    'former_keys',
    'key_digest',
    'key_prefix',
    'key_last4',
    'previous_until_ms',
    'revoked_ms',
  ],
  'telemetry.plane_rotated': ['key_digest', 'key_prefix', 'key_last4', 'previous_until_ms'],
  'telemetry.plane_revoked': ['revoked_ms'],
};

export const isPlaneEvent = (eventType: string): boolean => Object.hasOwn(changedBy, eventType);

export class PlaneLife {
  readonly #planes = new Map<string, KnownColumns>();
  #unread = 0;

  /** By plane id. */
  get planes(): ReadonlyMap<string, KnownColumns> {
    return this.#planes;
  }

  /** Number of unreadable events that registered a plane. So many rows cannot be checked. */
  get unread(): number {
    return this.#unread;
  }

  /** Call it in log order. */
  add(event: TenantEvent): void {
    const { eventType, resourceId: planeId } = event;
    const known = this.#planes.get(planeId);
    if (eventType === 'telemetry.plane_registered') this.#planes.set(planeId, newPlane(event));
    else if (known !== undefined) {
      const { revision } = known;
      const columns = columnsOf(event, known);
      for (const column of changedBy[eventType] ?? []) {
        const value = columns[column];
        if (value === undefined) delete known[column];
        else known[column] = value;
      }
      if (revision !== undefined) known['revision'] = Number(revision) + 1;
    }
  }

  /** An event whose body is missing or altered. The columns that it changed are unknown from then on. */
  forget(eventType: string): void {
    if (eventType === 'telemetry.plane_registered') this.#unread += 1;
    for (const known of this.#planes.values()) {
      for (const column of [...(changedBy[eventType] ?? []), 'revision']) delete known[column];
    }
  }
}

const newPlane = ({ atMs, actorId, metadata }: TenantEvent): KnownColumns => ({
  name: text(metadata['name']),
  created_ms: atMs,
  created_by: actorId,
  token_used_ms: null,
  enrolled_ms: null,
  origin: null,
  audit_origin: null,
  verifier_key: null,
  audit_verifier_key: null,
  former_keys: null,
  key_digest: null,
  key_prefix: null,
  key_last4: null,
  previous_until_ms: null,
  revoked_ms: null,
  revision: 1,
});

/**
 * All columns that any event sets, given the columns before it. Columns that depend on an unknown one are
 * left out.
 */
const columnsOf = (
  { eventType, atMs, metadata }: TenantEvent,
  before: KnownColumns,
): Partial<KnownColumns> => ({
  token_used_ms: eventType === 'telemetry.plane_enrolled' ? atMs : null,
  enrolled_ms: atMs,
  origin: text(metadata['origin']),
  audit_origin: text(metadata['auditOrigin']),
  verifier_key: text(metadata['verifierKey']),
  audit_verifier_key: text(metadata['auditVerifierKey']),
  key_prefix: text(metadata['keyPrefix']),
  key_last4: text(metadata['keyLast4']),
  ...formerKeysAfter(before, { atMs, metadata }),
  key_digest: text(metadata['digestHash']),
  previous_until_ms: time(metadata['previousValidUntil']),
  revoked_ms: eventType === 'telemetry.plane_revoked' ? atMs : null,
});

/** Adds the previous keys to the former ones, if they differ from the new keys. */
function formerKeysAfter(
  { former_keys: known, verifier_key: verifierKey, audit_verifier_key: auditVerifierKey }: KnownColumns,
  { atMs, metadata }: Pick<TenantEvent, 'atMs' | 'metadata'>,
): Partial<KnownColumns> {
  if (known === undefined || verifierKey === undefined || auditVerifierKey === undefined) return {};
  if (known === null) return { former_keys: formerKeysText([]) };
  const isSame =
    verifierKey === text(metadata['verifierKey']) && auditVerifierKey === text(metadata['auditVerifierKey']);
  if (isSame || atMs === null) return { former_keys: known };
  const before = {
    verifierKey: String(verifierKey),
    auditVerifierKey: String(auditVerifierKey),
    untilMs: atMs,
  };
  const keys = JSON.parse(String(known)) as FormerKeys[];
  return { former_keys: formerKeysText([...keys, before]) };
}
