/** The leaf of an evaluation: the list of decisions, and reading it back. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { draftEvaluation, openEvaluation, type Evaluation } from '../../../src/core/decided/evaluation.ts';
import type { RecordedDecision } from '../../../src/core/decided/recorded-decision.ts';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';
import { hashText } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';

const salt = saltPool(randomBytes);
const decision: RecordedDecision = {
  policyId: 'no-shell',
  version: 2,
  policyHash: `sha256:${'0'.repeat(64)}`,
  decision: 'deny',
  outcome: 'matched',
  severity: null,
  reasoning: 'deny v2: context.tool.name = "shell"',
};
const evaluation = (decisions: readonly RecordedDecision[]): Evaluation => ({
  id: 'pev_01jzzzzzzzzzzzzzzzzzzzzzzz',
  runId: 'run-1',
  policySource: 'active',
  policyCount: decisions.length,
  policyIds: null,
  policySetHash: `sha256:${'1'.repeat(64)}`,
  policyIndex: 4,
  combined: 'deny',
  approval: { id: 'apr_1', requestedBy: 'key_1', expiresAt: '2026-01-02T00:00:00.000Z' },
  evaluatedAt: '2026-01-01T00:00:00.000Z',
  decisions,
  shadow: [decision],
  checkpoint: { context: { tool: { name: 'shell' }, env: 'staging' } },
  readSet: { context: { tool: { name: 'shell' } } },
});
const opened = (given: Evaluation) => openEvaluation(openLeaf({ index: 5, ...draftEvaluation(given, salt) }));

describe('the leaf of an evaluation', () => {
  it('the leaf of an evaluation opens as the evaluation that it was made from', () => {
    const given = evaluation([decision, { ...decision, policyId: 'other', version: null, policyHash: null }]);
    expect(opened(given)).toMatchObject({ ...given });
  });

  it('the leaf of an evaluation commits to its decisions by count and RFC 6962 root', () => {
    const decisions = [1, 2, 3].map((version) => ({ ...decision, version }));
    const root = merkleRoot(decisions.map((each) => leafHash(canonicalize(each))));
    expect(opened(evaluation(decisions)).list).toEqual({ n: 3, root: hashText(root) });
  });

  it('the leaf of an evaluation commits to a long list of decisions as one field', () => {
    const decisions = Array.from({ length: limits.policiesListed + 1 }, (_, version) => ({
      ...decision,
      version,
    }));
    const { disclosures } = draftEvaluation(evaluation(decisions), salt);
    expect(disclosures).not.toContain('/decisions/0');
    expect(opened(evaluation(decisions)).decisions).toEqual(decisions);
  });
});
