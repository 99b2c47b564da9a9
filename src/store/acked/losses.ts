/**
 * The losses that the processes of a data directory found and nobody has acknowledged: `losses.ndjson`, one loss a line.
 * `/health` counts them; `gov log losses ack` removes them. The logs keep their `gov.loss/1` leaves.
 * Proven by `test/store/acked/heads.test.ts`.
 */
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import type { LossRecord } from '../../core/decided/loss.ts';
import { makePrivate, storeFiles, syncFile } from '../file/paths.ts';

/** What to do about acknowledged leaves that the database lacks: `record` them in the log, or `refuse` the log. */
export const lossChoices = ['record', 'refuse'] as const;
export type OnLoss = (typeof lossChoices)[number];

/** A type, not an interface, because it is JSON. */
export type NotedLoss = LossRecord & { readonly projectId: string };

/** In order of their discovery. Cost: one look-up where there are none. */
export function readLosses(dataDir: string): readonly NotedLoss[] {
  const path = storeFiles(dataDir).losses;
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const loss = notedLoss(line);
      return loss === null ? [] : [loss];
    });
}

/** Null for a part of a line, which a crash may leave. */
function notedLoss(line: string): NotedLoss | null {
  try {
    return JSON.parse(line) as NotedLoss; // written by `noteLoss`
  } catch {
    return null;
  }
}

/** Adds a loss that is not there yet. Durable when it returns. */
export function noteLoss(dataDir: string, loss: NotedLoss): void {
  const line = JSON.stringify(loss);
  if (readLosses(dataDir).some((known) => JSON.stringify(known) === line)) return;
  const path = storeFiles(dataDir).losses;
  makePrivate(path);
  appendFileSync(path, `\n${line}\n`);
  syncFile(path);
}

/** Removes the losses and returns them. */
export function acknowledgeLosses(dataDir: string): readonly NotedLoss[] {
  const losses = readLosses(dataDir);
  rmSync(storeFiles(dataDir).losses, { force: true });
  return losses;
}

export const lostLeaves = (losses: readonly NotedLoss[]): number =>
  losses.reduce((sum, { lost }) => sum + lost, 0);
