/**
 * The bounds on the exports of a project, the same for both engines.
 * Proven by `test/store/suite/governance/export-bounds.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { ExportHoldings } from '../port/store.ts';

/** Seconds after which an export under construction may be finished. */
const againSeconds = 5;
/** The shortest time that an undeleted export is kept (contract K7), in seconds. */
const expireSeconds = 3600;

/** Call it before the creation of an export. Throws RATE_LIMITED or EXPORT_LIMIT. */
export function refuseMoreExports(held: ExportHoldings, most: ExportHoldings): void {
  if (held.open >= most.open) {
    throw new GovError(
      'RATE_LIMITED',
      `expected at most ${most.open} unfinished exports of a project, got one more; wait until one is finished`,
      { retryAfterSeconds: againSeconds },
    );
  }
  if (held.kept + held.open >= most.kept) refuse(`${most.kept} exports that a project keeps`, 'one more');
  if (held.keptBytes >= most.keptBytes) {
    refuse(`${most.keptBytes} bytes of exports that a project keeps`, `${held.keptBytes}`);
  }
}

/** Call it with the finished export counted. Throws EXPORT_LIMIT. */
export function refuseMoreBytes({ keptBytes }: ExportHoldings, most: ExportHoldings): void {
  if (keptBytes <= most.keptBytes) return;
  refuse(`${most.keptBytes} bytes of exports that a project keeps`, `${keptBytes} with this one`);
}

function refuse(expected: string, got: string): never {
  const way =
    'delete unneeded exports, wait until some expire, export less, or ask the operator to raise the limit';
  throw new GovError('EXPORT_LIMIT', `expected at most ${expected}, got ${got}; ${way}`, {
    retryAfterSeconds: expireSeconds,
  });
}
