/**
 * The plan of one commit: positions in the log, rows and effects. A refused request is undone.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { applyEffect } from '../../append/effects.ts';
import type { Loss } from '../../../core/decided/loss.ts';
import type { AppendOutcome, AppendRequest } from '../../port/store.ts';
import { keptHeaders } from '../../append/repeats.ts';
import type { RandomPool } from '../../append/random.ts';
import { Sequencer, type SequencerParts } from '../../append/sequencer.ts';
import { effectRows } from '../effects/rows.ts';
import { stepper } from '../effects/writing.ts';
import type { Database } from '../connection/database.ts';
import type { Facts } from './known.ts';
import { problemOf } from '../connection/faults.ts';
import type { OpenLedger } from './ledger.ts';
import { CommitRows } from './rows.ts';
import { Undo } from './undo.ts';
import type { Step } from '../../read/queries.ts';

/** The outcome of one request. */
export type RequestOutcome =
  | { readonly done: true; readonly outcome: AppendOutcome }
  | { readonly done: false; readonly error: unknown };

export interface PlanOptions {
  readonly clock: { now(): number };
  readonly random: RandomPool;
  readonly database: Pick<Database, 'seal'>;
  readonly ledger: OpenLedger;
  /** Recorded before the leaves of the requests. */
  readonly loss?: Loss | null;
  readonly acknowledged?: SequencerParts['acknowledged'];
  /** Changes while the requests are planned. */
  readonly facts: Facts;
}

/** Plans requests of one project one by one in memory, each with those before it. */
export class CommitPlan {
  readonly #ledger: OpenLedger;
  readonly #rows: CommitRows;
  readonly #undo = new Undo();
  readonly #written: Step[] = [];
  readonly #sequencer: Sequencer;

  constructor({ clock, random, database: { seal }, ledger, loss = null, acknowledged, facts }: PlanOptions) {
    this.#ledger = ledger;
    this.#rows = new CommitRows(seal, facts);
    const stepOf = stepper(ledger.no);
    const effects = effectRows({
      project: ledger.no,
      facts,
      undo: this.#undo,
      seal,
      write: (made) => this.#write(made),
      add: (made, values) => this.#write(stepOf(made, values)),
    });
    this.#sequencer = new Sequencer({
      clock,
      random,
      openLedger: () => ledger,
      lossOf: () => loss,
      ...(acknowledged === undefined ? {} : { acknowledged }),
      kept: this.#keptAnswers(facts),
      clients: this.#clientEvents(facts),
      readRun: (_, runId) => facts.runs.get(runId) ?? null,
      applyEffect: (_, effect, assigned) => applyEffect(effects, effect, assigned),
      nextRunNo: () => ledger.nextRunNo++,
      nextTypeNo: () => ledger.nextTypeNo++,
      rows: this.#rows,
    });
  }

  /** Plans one request; a refused one leaves nothing. */
  plan(request: AppendRequest): RequestOutcome {
    try {
      const outcome = this.#sequencer.append(request);
      this.#undo.keep();
      return { done: true, outcome };
    } catch (error) {
      this.#undo.back();
      return { done: false, error: error instanceof GovError ? error : problemOf(error) };
    }
  }

  /** Returns all steps of the commit; call it once. */
  steps(): Step[] {
    return [...this.#written, ...this.#rows.steps(this.#sequencer.added)];
  }

  /** Called after COMMIT returned. */
  settle(): void {
    this.#sequencer.settle();
    this.#ledger.runs.clear(); // each commit looks up the runs that it names
  }

  #write(made: Step): void {
    const count = this.#written.length;
    this.#undo.add(() => (this.#written.length = count));
    this.#written.push(made);
  }

  #keptAnswers({ kept }: Facts): SequencerParts['kept'] {
    return {
      find: (_, key) => kept.get(key) ?? null,
      save: (project, key, { fingerprint, response, atMs }) => {
        const { status, body } = response;
        const { kept: rows } = this.#rows;
        const { count } = rows;
        this.#undo.set(kept, key, { fingerprint, response });
        this.#undo.add(() => rows.cut(count));
        rows.add({ project, key, fingerprint, atMs, status, headers: keptHeaders(response), body });
      },
    };
  }

  #clientEvents({ clients }: Facts): SequencerParts['clients'] {
    return {
      claim: (project, clientEventId, { index, fingerprint }) => {
        const earlier = clients.get(clientEventId);
        if (earlier !== undefined) return earlier;
        const { clients: rows } = this.#rows;
        const { count } = rows;
        this.#undo.set(clients, clientEventId, { index, fingerprint, event: null });
        this.#undo.add(() => rows.cut(count));
        rows.add({ project, clientEventId, index, fingerprint });
        return null;
      },
      has: (_, clientEventId) => clients.has(clientEventId),
      event: (_, index) => {
        for (const known of clients.values()) {
          if (known.index === index && known.event !== null) return known.event;
        }
        throw new GovError('STORAGE_FAULT', `expected leaf ${index}, got no row; run fsck`);
      },
    };
  }
}
