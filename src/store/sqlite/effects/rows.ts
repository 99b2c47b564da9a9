/**
 * The rows of effects, read and written one by one in the transaction of their request.
 * `src/store/append/effects.ts` judges the effects. A crash before COMMIT leaves none of these rows.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/sqlite/crash.long.test.ts`.
 */
import { declarationHash } from '../../../core/graphs/declaration.ts';
import { applyEffect, type EffectRows } from '../../append/effects.ts';
import type { LeafOutcome } from '../../port/store.ts';
import type { Effect } from '../../port/store.ts';
import { approvalRows } from './approvals.ts';
import { bodyRows, type EffectSeal } from './bodies.ts';
import { documentRows } from './documents.ts';
import { termWrites } from '../../write/event-terms.ts';
import { exportRows } from './exports.ts';
import { policyRows } from './policy-changes.ts';
import type { Prepare } from '../../file/statement.ts';
import { tenantRows } from './tenants.ts';
import { withdrawer } from './withdrawn.ts';
import { runner } from './writing.ts';
import type { Current } from './current.ts';
import { jobEffectWrites } from '../../write/jobs.ts';
import type { Writer } from '../../write/statement.ts';
import { claimWrites, graphWrites } from '../../write/work.ts';

/**
 * Applies one effect of a request to the project with this number. The leaves of the request are already
 * assigned.
 */
export type EffectWriter = (project: number, effect: Effect, assigned: readonly LeafOutcome[]) => void;

export function effectWriter(prepare: Prepare, sealing: EffectSeal): EffectWriter {
  const current: Current = { project: 0 };
  const run = runner(prepare);
  const write: Writer<number> = (made, values) => run(current.project, made, values);
  const rows: EffectRows = {
    ...graphRows(prepare, current, write),
    ...jobRows(write),
    ...policyRows(prepare, current, write),
    ...approvalRows(prepare, current, write),
    ...claimRows(prepare, current, write),
    ...bodyRows(prepare, current, sealing),
    ...documentRows(prepare, current, write),
    ...termWrites(write),
    ...exportRows(prepare, current, write),
    ...withdrawer(prepare, current),
    ...tenantRows(prepare, current, write),
  };
  return (project, effect, assigned) => {
    current.project = project;
    applyEffect(rows, effect, assigned);
  };
}

type EffectPart<Names extends keyof EffectRows> = Pick<EffectRows, Names>;

function graphRows(
  prepare: Prepare,
  current: Current,
  write: Writer<number>,
): EffectPart<'saveProof' | 'saveGraph' | 'isSealed' | 'declarationHash' | 'declareGraph' | 'sealGraph'> {
  const find = prepare<{ sealed_ms: number | null; declaration: string | null }>(
    'find graph of run',
    'SELECT sealed_ms, declaration FROM run_graph WHERE project = ? AND run_id = ?',
  );
  return {
    ...graphWrites(write),
    isSealed: (runId) => (find.get(current.project, runId)?.sealed_ms ?? null) !== null,
    declarationHash: (runId) => {
      const text = find.get(current.project, runId)?.declaration ?? null;
      return text === null ? null : declarationHash(text);
    },
  };
}

function jobRows(
  write: Writer<number>,
): EffectPart<'enqueueJob' | 'completeJob' | 'failJob' | 'cancelJob' | 'retryJob'> {
  const writes = jobEffectWrites(write);
  return {
    ...writes,
    completeJob: (effect) => writes.completeJob(effect) === 1,
    failJob: (effect) => writes.failJob(effect) === 1,
    cancelJob: (effect) => writes.cancelJob(effect) === 1,
    retryJob: (effect) => writes.retryJob(effect) === 1,
  };
}

function claimRows(
  prepare: Prepare,
  current: Current,
  write: Writer<number>,
): EffectPart<'saveRiskConfig' | 'claimSnapshot' | 'fact' | 'saveFact'> {
  const writes = claimWrites(write);
  const find = prepare<{ value: string }>(
    'find intake fact',
    'SELECT value FROM intake_fact WHERE project = ? AND name = ?',
  );
  return {
    ...writes,
    claimSnapshot: (runId) => writes.claimSnapshot(runId) === 1,
    fact: (name) => find.get(current.project, name)?.value ?? null,
  };
}
