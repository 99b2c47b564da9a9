/** Decision lineage over a log: each risk decision against the configuration that the leaves before it put in force. */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { draftConfigChange } from '../../../src/core/decided/risk-config.ts';
import { draftRiskDecision } from '../../../src/core/decided/risk-decision.ts';
import { defaultRiskConfig, riskRouter } from '../../../src/core/risk/config.ts';
import { canonicalInputs } from '../../../src/core/risk/inputs.ts';
import { evaluateRisk } from '../../../src/core/risk/router.ts';
import { decisionLineage } from '../../../src/service/proofs/decided-layers.ts';
import type { TaskContext } from '../../../src/service/call/work.ts';
import { appended, genesis, projectOf, salt } from '../../store/support/fixture.ts';
import { unmetered } from '../../store/support/governance.ts';
import { TestPlane } from '../../store/support/plane.ts';

const at = '2026-01-01T00:00:00.000Z';
const byDefault = riskRouter(defaultRiskConfig);
const strict = riskRouter({ ...defaultRiskConfig, mode: 'strict' });
const inputs = canonicalInputs({ policyDecisions: [{ decision: 'warn', policyId: 'p', score: 0.4 }] });
const puts = ({ configHash }: typeof strict) =>
  draftConfigChange({ configHash, at, config: {}, actor: 'key_1' }, salt);
const decides = (router: typeof strict) =>
  draftRiskDecision(
    {
      id: 'rsk_1',
      runId: 'r',
      ...evaluateRisk(inputs, router),
      evaluatedAt: at,
      inputs: { ...inputs, config: router.config as unknown as JsonObject },
    },
    salt,
  );

it.each([
  ['by the default before any was put', [decides(byDefault)], []],
  ['by each while it was in force', [decides(byDefault), puts(strict), decides(strict)], []],
  ['by the one put back', [puts(strict), puts(byDefault), decides(byDefault)], []],
  ['before it was put', [decides(strict), puts(strict)], ['action_matches_config']],
  ['after another was put', [puts(strict), decides(byDefault)], ['action_matches_config']],
  ['by one that nobody put', [decides(strict)], ['action_matches_config']],
])('of decisions %s', async (_, leaves, expected) => {
  const plane = new TestPlane();
  const store = plane.open();
  await store.createProject(projectOf('a'), genesis('a'));
  await appended(store, unmetered(leaves));
  const context = { reader: store, breathe: async () => {} } as unknown as TaskContext;
  const run = { projectId: 'prj_a', runId: 'r', treeSize: leaves.length + 1 };
  const { checks } = await decisionLineage(context, run);
  expect(checks.filter(({ pass }) => !pass).map(({ id }) => id)).toEqual(expected);
  await store.close();
  plane.drop();
});
