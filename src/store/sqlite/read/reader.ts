/**
 * The reading half of the store over one connection; worker threads open their own connection.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { dirname } from 'node:path';
import type { GovError } from '../../../contract/problems.ts';
import type { StoreReader } from '../../port/store.ts';
import { approvalReads } from '../../read/approvals.ts';
import { sealWith } from '../../file/body-seal.ts';
import type { Connection } from '../../file/connection.ts';
import { decidedReads } from './decided.ts';
import { problemOf, troubleOf } from '../../file/faults.ts';
import { documentReads } from '../../read/documents.ts';
import { eventTermReads } from '../../read/event-terms.ts';
import { exportReads } from '../../read/exports.ts';
import { storeFiles } from '../../file/paths.ts';
import { intakeReads } from '../../read/intake.ts';
import { jobReads } from '../../read/jobs.ts';
import { policyReads } from '../../read/policies.ts';
import { meterReads } from './meter.ts';
import { eventReads } from './events.ts';
import { indexMapReads } from '../../read/index-map.ts';
import { leafReads, projectNumbers } from './leaves.ts';
import { runReads } from './runs.ts';
import { leafFigureReads } from './leaf-figures.ts';
import { telemetryReads } from '../../read/planes.ts';
import { tenantReads } from '../../read/tenants.ts';
import { workReads } from '../../read/work.ts';
import { queriesOf } from './queries.ts';
import { Turns } from './turns.ts';
import { usageReads } from './usage.ts';
import { connectReader } from '../../file/reader.ts';
import { readSubjects } from '../../file/subjects.ts';

export function storeReader(db: Connection): StoreReader {
  const numberOf = projectNumbers(db);
  const queries = queriesOf(db, numberOf);
  const turns = new Turns();
  const events = eventReads(db, numberOf, turns);
  return {
    ...leafReads(db, numberOf),
    ...meterReads(db, numberOf),
    ...events,
    ...leafFigureReads(db, { numberOf, turns, seqBelow: events.runEventsBelow }),
    ...runReads(db, { numberOf, turns, queries }),
    ...workReads(queries),
    ...decidedReads(db, numberOf),
    ...policyReads(queries),
    ...approvalReads(queries),
    ...jobReads(queries),
    ...intakeReads(queries),
    ...tenantReads(queries),
    ...usageReads(db, numberOf),
    ...telemetryReads(queries),
    ...documentReads(queries),
    ...eventTermReads(queries),
    ...exportReads(queries),
    ...indexMapReads(queries),
  };
}

export interface Watcher {
  /** Handles a storage error and returns the problem for the caller. */
  readonly failed: (error: unknown) => GovError;
  /** Records any other error, with the project of the read. */
  readonly note: (error: unknown, projectId: string) => void;
}

/**
 * Wraps the reader so that a storage error stops writing too, and the caller gets the problem from `failed`.
 * A single altered leaf does not stop writing.
 */
export function watchedReader(reader: StoreReader, { failed, note }: Watcher): StoreReader {
  const watch =
    <Values extends unknown[], Result>(read: (...values: Values) => Promise<Result>) =>
    async (...values: Values): Promise<Result> => {
      try {
        return await read(...values);
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble === 'fault') throw failed(error);
        if (trouble !== 'bug') throw problemOf(trouble, error, 'read');
        // only verbs whose first argument is a project read leaves
        note(error, String(values[0]));
        throw error;
      }
    };
  const { graphParts, ...promises } = reader;
  const watched = Object.entries(promises).map(([name, read]) => [
    name,
    watch(read as () => Promise<unknown>),
  ]);
  // The same names with functions of the same types: `watch` preserves both.
  return { ...(Object.fromEntries(watched) as typeof promises), graphParts };
}

/** A small cache: whole runs are read in order, so a page is rarely needed twice. */
const streamCacheKiB = 4096;

/** Opens a reader of the database file `path`, for worker threads and checks. */
export function openReader(path: string, masterKey?: Uint8Array): StoreReader & { close(): void } {
  const db = connectReader(path, streamCacheKiB);
  const subjects = masterKey === undefined ? null : readSubjects(storeFiles(dirname(path)).subjects);
  sealWith(db, masterKey, subjects);
  return {
    ...storeReader(db),
    close: () => {
      db.close();
      subjects?.close();
    },
  };
}
