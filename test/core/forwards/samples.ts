/** Leaves as the store has them, for tests of what is forwarded. */
import { draftEvaluation, type Evaluation } from '../../../src/core/decided/evaluation.ts';
import { draftApproval } from '../../../src/core/decided/approval.ts';
import { draftRiskDecision } from '../../../src/core/decided/risk-decision.ts';
import { draftEvent, sealEvent, type OtherDraft } from '../../../src/core/events/record.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import type { EventInput } from '../../../src/contract/events.ts';
import { parseTimestamp } from '../../../src/core/time.ts';
import {
  forwardRecord,
  type ForwardLeaf,
  type ForwardRecord,
  type LogSource,
} from '../../../src/core/forwards/record.ts';

export const source: LogSource = {
  projectId: 'prj_01jq3v5k8hf7wb3c9x2m4n6p8r',
  organizationId: 'org_01jq3v5k8hf7wb3c9x2m4n6p8r',
  environment: 'production',
  origin: 'example.com/log/audit',
};

const salt = (): string => 'AAAAAAAAAAAAAAAAAAAAAA';

export const eventLeaf = (members: Partial<EventInput> = {}, index = 7): ForwardLeaf => {
  const input: EventInput = {
    runId: 'run-1',
    eventType: 'tool.call',
    actor: { id: 'agt-9', name: 'billing-agent', role: 'agent' },
    resource: { id: 'res-1', name: 'ledger', type: 'tool' },
    action: 'read',
    timestamp: '2026-03-01T09:30:00Z',
    metadata: { amount: 12, model: 'opus-9', provider: 'anthropic' },
    aiSystemId: 'sys-1',
    ...members,
  };
  const draft = draftEvent(input, parseTimestamp(input.timestamp)!, salt);
  if (!('kind' in draft)) throw new Error(draft.detail);
  const place = { index, runSeq: 3, serverMs: Date.UTC(2026, 2, 1, 9, 30, 1), random: 5 };
  const { record, leaf } = sealEvent(draft, place);
  return { index, record, hash: leaf, disclosures: draft.disclosures };
};

/** An event with nothing that is optional. */
const bareLeaf = (): ForwardLeaf =>
  eventLeaf({ actor: 'someone', resource: undefined, metadata: undefined, aiSystemId: undefined } as never);

export const leafOf = ({ record, disclosures }: OtherDraft, index = 8): ForwardLeaf => ({
  index,
  record,
  hash: leafHash(record),
  disclosures,
});

export const evaluationLeaf = (members: Partial<Evaluation> = {}): ForwardLeaf =>
  leafOf(
    draftEvaluation(
      {
        id: 'pev_01jq3v5k8hf7wb3c9x2m4n6p8r',
        runId: 'run-1',
        policySource: 'tool',
        policyCount: 1,
        policyIds: null,
        policySetHash: `sha256:${'a'.repeat(64)}`,
        policyIndex: 2,
        combined: 'deny',
        approval: null,
        evaluatedAt: '2026-03-01T09:30:02.000Z',
        decisions: [
          {
            policyId: 'pol_01jq3v5k8hf7wb3c9x2m4n6p8r',
            version: 3,
            policyHash: `sha256:${'b'.repeat(64)}`,
            decision: 'deny',
            outcome: 'matched',
            severity: 'critical',
            reasoning: 'amount above 10',
          },
        ],
        shadow: [],
        checkpoint: {
          context: {
            tool: { name: 'pay' },
            arguments: { amount: 12 },
            actor: { id: 'agt-9', name: 'billing-agent' },
          },
        },
        readSet: null,
        ...members,
      },
      salt,
    ),
  );

const riskLeaf = (): ForwardLeaf =>
  leafOf(
    draftRiskDecision(
      {
        id: 'rsk_01jq3v5k8hf7wb3c9x2m4n6p8r',
        runId: 'run-1',
        action: 'block',
        score: 87.5,
        deterministicInputsHash: `sha256:${'c'.repeat(64)}`,
        configHash: `sha256:${'d'.repeat(64)}`,
        evaluatedAt: '2026-03-01T09:30:03.000Z',
        wouldBeAction: null,
        factors: [],
        inputs: { amount: 12 },
      },
      salt,
    ),
    9,
  );

const approvalLeaf = (): ForwardLeaf =>
  leafOf(
    draftApproval(
      {
        id: 'apr_01jq3v5k8hf7wb3c9x2m4n6p8r',
        runId: 'run-1',
        evaluationId: 'pev_01jq3v5k8hf7wb3c9x2m4n6p8r',
        outcome: 'denied',
        approver: 'key_01jq3v5k8hf7wb3c9x2m4n6p8r',
        at: '2026-03-01T09:30:04.000Z',
        reason: 'not this month',
      },
      salt,
    ),
    10,
  );

export const recordOf = (leaf: ForwardLeaf): ForwardRecord => forwardRecord(leaf, source, 0);

/** One record of each kind that formats treat differently. */
export const kinds = (): readonly ForwardRecord[] =>
  [
    eventLeaf(),
    bareLeaf(),
    eventLeaf({ eventType: 'tool.evaluated', action: 'evaluate', metadata: { decision: 'escalate' } }),
    evaluationLeaf(),
    evaluationLeaf({ combined: 'allow', decisions: [], checkpoint: null }),
    riskLeaf(),
    approvalLeaf(),
  ].map(recordOf);

/** Characters that end a line or act on a screen. */
const controls = '\\u0000-\\u001f\\u007f-\\u009f';
export const actsOnReader = new RegExp(`[${controls}\\u2028\\u2029\\u202e]`);

/** A whole record for a receiver that looks for the first `CEF:`. */
export const forgedCef = 'x|CEF:0|gov|gov|0.1.0|tool.call|harmless|0|act=allow suser=admin';

/** Texts that end fields, lines and records of some format, or act on a reader's screen. */
export const hostile = [
  'a|b\\c=d"e]f\n\r\n<13>1 2026-03-01T09:30:00Z host gov - - - forged',
  'CEF:0|x|y|z|1|forged|10| act=allow rt=0',
  forgedCef,
  '"}\n{"forged":true}',
  '\u0001\u0007\u001b[2J\u007f\u0085\u009b\u2028\u2029\u202e\u200b\ufeff',
  '𝕏 ünï ☃ 日本語 \u{e0041}',
  '=',
  '\\',
  '] [x@1 y="z"',
  '12 <13>1 - - - - - -',
];

/** An event with the text in each place that a client can fill. */
export const hostileRecord = (text: string): ForwardRecord => {
  const plain = text.replace(new RegExp(`[${controls}]`, 'g'), '');
  return recordOf(
    eventLeaf({
      actor: { id: text, name: text, role: text, type: text },
      resource: { id: text, name: text, type: text },
      action: plain === '' ? 'x' : plain,
      metadata: {
        [text]: text,
        decision: text,
        reason: text,
        model: text,
        provider: text,
        deep: [{ a: text }],
      },
      clientEventId: 'client-1',
    }),
  );
};
