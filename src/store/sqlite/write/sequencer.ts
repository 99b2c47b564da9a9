/**
 * The sequencer over one connection. It looks rows up while it plans, inside the transaction of a commit. It
 * writes the rows of all requests together before COMMIT. `src/store/append/sequencer.ts` says what a crash
 * leaves.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/sqlite/crash.long.test.ts`.
 */
import type { AppendOutcome, AppendRequest, NewTenant } from '../../port/store.ts';
import type { RandomPool } from '../../append/random.ts';
import { Sequencer, type RepeatOutcome } from '../../append/sequencer.ts';
import { sealOf, subjectsOf } from '../../file/body-seal.ts';
import type { AckedHeads } from '../../acked/heads.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { lossFinder } from '../../acked/compare.ts';
import { runner } from '../effects/writing.ts';
import { effectWriter } from '../effects/rows.ts';
import { clientEvents, keptAnswers } from './repeats.ts';
import { ledgerReader, runReader } from './ledger.ts';
import { CommitRows } from './rows.ts';
import type { Faults } from '../../file/faults.ts';
import { preparer, type Prepare } from '../../file/statement.ts';
import { noSubjectKeys, subjectKeys } from '../effects/subject-keys.ts';
import type { Participant } from './writer.ts';

export interface SequencerOptions {
  readonly db: Connection;
  readonly prepare: Prepare;
  readonly clock: { now(): number };
  readonly random: RandomPool;
  readonly faults?: Faults | undefined;
  /** Remembers what commits acknowledge. */
  readonly acked: AckedHeads;
}

export interface CommitSequencer extends Participant {
  /** Plans one request. If it throws, memory keeps nothing of the request. */
  append(request: AppendRequest): AppendOutcome;
  /** Returns the outcome of the earlier request with this key, or null for a new key. */
  repeated(idempotency: NonNullable<NewTenant['idempotency']>): RepeatOutcome | null;
  /** Destroys the keys of subjects whose erasure is durable: `SubjectKeys.destroy`. */
  destroyKeys(): boolean;
}

export function openSequencer({
  db,
  prepare,
  clock,
  random,
  faults,
  acked,
}: SequencerOptions): CommitSequencer {
  const findLoss = lossFinder(db, acked);
  const seal = sealOf(db);
  const file = subjectsOf(db);
  const keys =
    file === null
      ? noSubjectKeys
      : subjectKeys(file, {
          prepare,
          prepareKeys: preparer(file, faults),
          forgetDerived: () => seal.forget(),
        });
  const run = runner(prepare);
  const rows = new CommitRows(prepare, { seal, keysOf: (project, subjects) => keys.of(project, subjects) });
  const next = (sql: string): number => db.prepare<Value[], number>(sql).pluck().get() ?? 1;
  // over all projects, so that run numbers follow the order in which the store first saw the runs
  let runNo = next('SELECT max(run_no) + 1 FROM run');
  let typeNo = next('SELECT max(type_no) + 1 FROM event_type');
  const sequencer = new Sequencer({
    clock,
    random,
    openLedger: ledgerReader(db, prepare),
    lossOf: (projectId, { no: project, audit, lastMs }) =>
      findLoss({ projectId, project, size: audit.size, root: audit.root() }, lastMs),
    acknowledged: (projectId, head, loss) =>
      loss === null ? acked.raise(projectId, head) : acked.recorded(projectId, head, loss),
    kept: keptAnswers(prepare, run),
    clients: clientEvents(prepare, run),
    readRun: runReader(prepare),
    applyEffect: effectWriter(prepare, { seal, keys }),
    nextRunNo: () => runNo++,
    nextTypeNo: () => typeNo++,
    rows,
  });
  return {
    append: (request) => sequencer.append(request),
    repeated: (idempotency) => sequencer.repeated(idempotency.projectId, idempotency),
    flush: () => {
      keys.flush();
      rows.flush(sequencer.added);
    },
    settle: () => {
      sequencer.settle();
      keys.settle();
    },
    destroyKeys: () => keys.destroy(),
    forget: () => {
      sequencer.forget();
      keys.forget();
      rows.clear();
    },
  };
}
