/**
 * Recomputes the columns of organizations from the logs of their projects: creation, and the customer at the
 * payment provider.
 * A home may move (`src/store/rules/homes.ts`), so the newest event in all logs of the organization counts.
 * Memory: about 300 bytes each.
 * Proven by `test/host/data/tamper-tenants.long.test.ts`.
 */
import type { KnownColumns, TenantEvent } from './project-life.ts';

export const isOrganizationEvent = (eventType: string): boolean =>
  eventType === 'organization.created' || eventType === 'billing.customer_changed';

interface Life {
  readonly known: KnownColumns;
  customerAtMs: number;
}

/** The organizations of an installation. */
export class Organizations {
  readonly #lives = new Map<string, Life>();
  readonly #rows = new Map<string, KnownColumns>();
  /** Organizations with an unreadable event. */
  readonly #unread = new Set<string>();

  add({ eventType, resourceId, atMs, metadata }: TenantEvent): void {
    const life = this.#lives.get(resourceId) ?? { known: { customer_id: null }, customerAtMs: -Infinity };
    this.#lives.set(resourceId, life);
    if (eventType === 'organization.created') {
      Object.assign(life.known, { name: metadata['name'], created_ms: atMs });
    } else if (atMs !== null && atMs >= life.customerAtMs) {
      life.known['customer_id'] = metadata['to'] as string | null;
      life.customerAtMs = atMs;
    }
  }

  /** Call it for an unreadable event in the log of one of the organization's projects. */
  forget(organizationId: string): void {
    this.#unread.add(organizationId);
  }

  /** Call it with the organization's row, read in the same transaction as the log of its home. */
  found(organizationId: string, row: KnownColumns): void {
    this.#rows.set(organizationId, row);
  }

  /**
   * Returns each organization with its row, undefined if missing, and its logged columns, undefined if no
   * event created it.
   */
  *compared(): Generator<
    readonly [organizationId: string, row: KnownColumns | undefined, known: KnownColumns | undefined]
  > {
    for (const organizationId of new Set([...this.#lives.keys(), ...this.#rows.keys()])) {
      if (this.#unread.has(organizationId)) continue;
      const known = this.#lives.get(organizationId)?.known;
      yield [
        organizationId,
        this.#rows.get(organizationId),
        known?.['created_ms'] === undefined ? undefined : known,
      ];
    }
  }
}
