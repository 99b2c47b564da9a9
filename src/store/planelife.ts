/**
 * What the system events of a project give of its data planes, column by column and whatever the engine: each change of
 * theirs is one event, in the transaction of the change (`src/service/telemetryevents.ts`). Memory grows with the planes
 * that were ever registered: about 500 bytes each. Proven by `test/store/tamperplanes.test.ts`.
 */
import { text, time, type TenantEvent, type Told } from './tenantlife.ts';

/** The columns that an event changes of a row that was there before it, beside its revision. */
const changedBy: Readonly<Record<string, readonly string[]>> = {
  'telemetry.plane_registered': [],
  'telemetry.plane_enrolled': [
    'enrolled_ms',
    'origin',
    'audit_origin',
    'verifier_key',
    'audit_verifier_key',
    'key_prefix',
    'key_last4',
    'previous_until_ms',
  ],
  'telemetry.plane_rotated': ['key_prefix', 'key_last4', 'previous_until_ms'],
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
      const columns = columnsOf(event);
      for (const column of changedBy[eventType] ?? []) told[column] = columns[column] ?? null;
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
  enrolled_ms: null,
  origin: null,
  audit_origin: null,
  verifier_key: null,
  audit_verifier_key: null,
  key_prefix: null,
  key_last4: null,
  previous_until_ms: null,
  revoked_ms: null,
  revision: 1,
});

/** All that any event tells. */
const columnsOf = ({ atMs, metadata }: TenantEvent): Told => ({
  enrolled_ms: atMs,
  origin: text(metadata['origin']),
  audit_origin: text(metadata['auditOrigin']),
  verifier_key: text(metadata['verifierKey']),
  audit_verifier_key: text(metadata['auditVerifierKey']),
  key_prefix: text(metadata['keyPrefix']),
  key_last4: text(metadata['keyLast4']),
  previous_until_ms: time(metadata['previousValidUntil']),
  revoked_ms: atMs,
});
