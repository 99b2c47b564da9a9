/**
 * What the logs of an organization's projects tell of the organization: that it was made, and who it is at the payment
 * provider. Its home may move (`src/store/rules/homes.ts`), so the newest of all its logs counts. Memory: about 300 bytes each.
 * Proven by `test/host/data/tamper-tenants.long.test.ts`.
 */
import type { Told, TenantEvent } from './project-life.ts';

export const tellsOfOrganization = (eventType: string): boolean =>
  eventType === 'organization.created' || eventType === 'billing.customer_changed';

interface Life {
  readonly told: Told;
  customerAtMs: number;
}

/** Of a whole installation. */
export class Organizations {
  readonly #lives = new Map<string, Life>();
  readonly #rows = new Map<string, Told>();
  /** Those of which an event cannot be read. */
  readonly #unread = new Set<string>();

  add({ eventType, resourceId, atMs, metadata }: TenantEvent): void {
    const life = this.#lives.get(resourceId) ?? { told: { customer_id: null }, customerAtMs: -Infinity };
    this.#lives.set(resourceId, life);
    if (eventType === 'organization.created') {
      Object.assign(life.told, { name: metadata['name'], created_ms: atMs });
    } else if (atMs !== null && atMs >= life.customerAtMs) {
      life.told['customer_id'] = metadata['to'] as string | null;
      life.customerAtMs = atMs;
    }
  }

  /** An event in the log of one of its projects cannot be read. */
  forget(organizationId: string): void {
    this.#unread.add(organizationId);
  }

  /** Its row, as of the moment in which the log of its home was read. */
  found(organizationId: string, row: Told): void {
    this.#rows.set(organizationId, row);
  }

  /** Each with its row, undefined where there is none, and what is told of it, undefined where no event made it. */
  *compared(): Generator<readonly [organizationId: string, row: Told | undefined, told: Told | undefined]> {
    for (const organizationId of new Set([...this.#lives.keys(), ...this.#rows.keys()])) {
      if (this.#unread.has(organizationId)) continue;
      const told = this.#lives.get(organizationId)?.told;
      yield [
        organizationId,
        this.#rows.get(organizationId),
        told?.['created_ms'] === undefined ? undefined : told,
      ];
    }
  }
}
