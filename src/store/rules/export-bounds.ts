/** How many exports a project may have, whatever the engine. Proven by `test/store/suite/governance/export-bounds.ts`. */
import { GovError } from '../../contract/problems.ts';
import type { ExportHolding } from '../port/store.ts';

/** How soon one that is being built may be finished. */
const againSeconds = 5;
/** The least time for which one is kept (contract K7), where nobody deletes any. */
const expireSeconds = 3600;

/** Before one more is made. RATE_LIMITED, EXPORT_LIMIT. */
export function refuseMoreExports(held: ExportHolding, most: ExportHolding): void {
  if (held.open >= most.open) {
    throw new GovError(
      'RATE_LIMITED',
      `expected at most ${most.open} exports of a project that are not finished, got one more; wait until one is`,
      { retryAfterSeconds: againSeconds },
    );
  }
  if (held.kept + held.open >= most.kept) refuse(`${most.kept} exports that a project keeps`, 'one more');
  if (held.keptBytes >= most.keptBytes) {
    refuse(`${most.keptBytes} bytes of exports that a project keeps`, `${held.keptBytes} already`);
  }
}

/** With one that was just finished. EXPORT_LIMIT. */
export function refuseMoreBytes({ keptBytes }: ExportHolding, most: ExportHolding): void {
  if (keptBytes <= most.keptBytes) return;
  refuse(`${most.keptBytes} bytes of exports that a project keeps`, `${keptBytes} with this one`);
}

function refuse(expected: string, got: string): never {
  const way =
    'delete some that are not needed, wait until some expire, export less, or have the operator raise the bound';
  throw new GovError('EXPORT_LIMIT', `expected at most ${expected}, got ${got}; ${way}`, {
    retryAfterSeconds: expireSeconds,
  });
}
