/**
 * Writes of proofs, graphs, snapshots, the risk router's configuration and intake facts. `EffectRows` says what each one
 * is.
 * Proven by `test/store/suite/log/work.ts`, `test/store/suite/log/decided.ts` and `test/store/suite/log/intake.ts`.
 */
import type { Effect, Fact, GovernanceEffect, StoredGraph, StoredProof } from '../port/store.ts';
import { columnsOf } from '../rules/columns.ts';
import { graphColumns, proofColumns, proofRow } from '../rules/work-row.ts';
import { insert, upsert, write, type Writer } from './statement.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

const saveProof = insert(proofColumns);
const saveGraph = insert(graphColumns);

interface RunGraphRow {
  readonly runId: string;
  readonly declaration: string | null;
  readonly declaredMs: number | null;
  readonly sealedHash: string | null;
  readonly sealedMs: number | null;
}
const runGraph = columnsOf<RunGraphRow>('run_graph', {
  runId: 'run_id',
  declaration: 'declaration',
  declaredMs: 'declared_ms',
  sealedHash: 'sealed_hash',
  sealedMs: 'sealed_ms',
});
const declare = upsert(runGraph, { key: ['runId'], set: ['declaration', 'declaredMs'] });
const seal = upsert(runGraph, { key: ['runId'], set: ['sealedHash', 'sealedMs'] });

export const graphWrites = <Done>(run: Writer<Done>) => ({
  saveProof: (proof: StoredProof) => run(saveProof, proofRow(proof)),
  saveGraph: (graph: StoredGraph) => run(saveGraph, graph),
  declareGraph: ({ runId, declaration, atMs }: EffectOf<'declareGraph'>) =>
    run(declare, { runId, declaration, declaredMs: atMs }),
  sealGraph: (runId: string, { rootHash, atMs }: { readonly rootHash: string; readonly atMs: number }) =>
    run(seal, { runId, sealedHash: rootHash, sealedMs: atMs }),
});

const config = columnsOf<{ config: string; updatedMs: number }>('risk_config', {
  config: 'config',
  updatedMs: 'updated_ms',
});
const saveConfig = upsert(config, { key: [], set: ['config', 'updatedMs'] });
const claim = insert(
  columnsOf<{ runId: string }>('run_snapshot', { runId: 'run_id' }),
  ['runId'],
  'ON CONFLICT DO NOTHING',
);

const saveFact = write<Fact & { readonly name: string }>(
  'save intake fact',
  `INSERT INTO intake_fact (project, name, value, day) VALUES (:project, :name, :value, :day)
   ON CONFLICT (project, name) DO UPDATE SET value = excluded.value,
     day = CASE WHEN excluded.day > intake_fact.day THEN excluded.day ELSE intake_fact.day END`,
);

export const claimWrites = <Done>(run: Writer<Done>) => ({
  saveRiskConfig: ({ config: text, atMs }: Extract<GovernanceEffect, { kind: 'saveRiskConfig' }>) =>
    run(saveConfig, { config: text, updatedMs: atMs }),
  claimSnapshot: (runId: string) => run(claim, { runId }),
  saveFact: (name: string, { value, day }: Fact) => run(saveFact, { name, value, day }),
});
