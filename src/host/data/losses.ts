/**
 * `gov log losses`, of a plane or a service on this machine, also while it serves. Proven by
 * `test/cli/commands/log/losses.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { acknowledgeLosses, lostLeaves, readLosses, type NotedLoss } from '../../store/acked/losses.ts';

/** Losses that nobody has acknowledged. NOT_FOUND for a directory that nothing serves. */
export function listLosses(dataDir: string): readonly NotedLoss[] {
  refuseOther(dataDir);
  return readLosses(dataDir);
}

/** Acknowledges all losses. Returns their number, and that of the lost leaves. NOT_FOUND as above. */
export function ackLosses(dataDir: string): { readonly losses: number; readonly lost: number } {
  refuseOther(dataDir);
  const losses = acknowledgeLosses(dataDir);
  return { losses: losses.length, lost: lostLeaves(losses) };
}

function refuseOther(dataDir: string): void {
  if (['plane.json', 'service.json'].some((name) => existsSync(join(dataDir, name)))) return;
  throw new GovError('NOT_FOUND', `expected a plane or a service in ${dataDir}, got neither`);
}
