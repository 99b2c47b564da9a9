/**
 * What the system events of a project give of its data planes, column by column and whatever the engine: each change of
 * theirs is one event, in the transaction of the change (`src/service/planes/events.ts`). Memory grows with the planes
 * that were ever registered: about 500 bytes each. Proven by `test/store/fsck/tamper-planes.test.ts`.
 */
import type { FormerKeys } from '../../../core/plane/identity.ts';
import { formerKeysText } from '../../rules/plane-row.ts';
import { text, time, type TenantEvent, type Told } from './project-life.ts';

/** The columns that an event changes of a row that was there before it, beside its revision. */
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

export const tellsOfPlane = (eventType: string): boolean => Object.hasOwn(changedBy, eventType);

export class PlaneLife {
  readonly #planes = new Map<string, Told>();
  #unread = 0;

  /** By plane id. */
  get planes(): ReadonlyMap<string, Told> {
    return this.#planes;
  }

  /** Events that registered a plane and cannot be read: of so many rows nothing is known. */
  get unread(): number {
    return this.#unread;
  }

  /** In log order. */
  add(event: TenantEvent): void {
    const { eventType, resourceId: planeId } = event;
    const told = this.#planes.get(planeId);
    if (eventType === 'telemetry.plane_registered') this.#planes.set(planeId, newPlane(event));
    else if (told !== undefined) {
      const { revision } = told;
      const columns = columnsOf(event, told);
      for (const column of changedBy[eventType] ?? []) {
        const value = columns[column];
        if (value === undefined) delete told[column];
        else told[column] = value;
      }
      if (revision !== undefined) told['revision'] = Number(revision) + 1;
    }
  }

  /** An event whose body is gone, or is not what was logged: what it changed is not known any more. */
  forget(eventType: string): void {
    if (eventType === 'telemetry.plane_registered') this.#unread += 1;
    for (const told of this.#planes.values()) {
      for (const column of [...(changedBy[eventType] ?? []), 'revision']) delete told[column];
    }
  }
}

const newPlane = ({ atMs, actorId, metadata }: TenantEvent): Told => ({
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

/** All that any event tells, after `before`; what follows from what is not known is left out. */
const columnsOf = ({ eventType, atMs, metadata }: TenantEvent, before: Told): Partial<Told> => ({
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

/** The keys before are kept where they were others. */
function formerKeysAfter(
  { former_keys: known, verifier_key: verifierKey, audit_verifier_key: auditVerifierKey }: Told,
  { atMs, metadata }: Pick<TenantEvent, 'atMs' | 'metadata'>,
): Partial<Told> {
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
