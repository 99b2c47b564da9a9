/**
 * Verifies the signed approvals in a bundle without the log's word: each leaf is in the tree of S, and the signature in it
 * is of the key that an earlier leaf enrolled, over a statement of exactly this decision on the call in the leaf that asked. The layer `policy_compliance`
 * says which calls ran by them. Attacker controlled; nothing here throws.
 * Proven by `test/service/approvers/bundle.test.ts`.
 */
import { isCount } from '../count.ts';
import {
  approvalFault,
  Approvers,
  factsOfCall,
  isViewUnknown,
  seenIn,
  type Approver,
} from '../approvals/signature.ts';
import { fingerprintOf } from '../approvals/ssh.ts';
import { openApprover } from '../decided/approver.ts';
import { openApproval, type DecidedApproval } from '../decided/approval.ts';
import { askedCall, openEvaluation, type AskedCall, type OpenEvaluation } from '../decided/evaluation.ts';
import type { OpenLeaf } from '../decided/leaf.ts';
import { strictObject } from '../events/run-entry.ts';
import { rebuild } from '../events/record.ts';
import { disclosureDigest, parseDisclosure, type Disclosure } from '../events/disclosure.ts';
import { isObject } from '../json/object.ts';
import { canonicalize, type JsonObject } from '../json/parse.ts';
import { leafHash, verifyInclusion } from '../merkle/tree.ts';
import { signedIn } from './answers.ts';
import { type BundleApproval, type BundleFrame, pathHashes } from './bundle.ts';
import type { Evidence, Statement } from './statement.ts';
import type { CheckList } from './verdict.ts';

interface ApprovalInputs {
  readonly statements: ReadonlyMap<string, Statement>;
  readonly evidence: Evidence | null;
  /** The root of checkpoint S. */
  readonly root: Uint8Array | null;
}

export function checkApprovals({ approvals }: BundleFrame, stated: ApprovalInputs, checks: CheckList): void {
  const claimed = signedIn(stated.statements.get('policy_compliance')) ?? [];
  if (approvals === undefined) {
    if (claimed.length > 0)
      checks.skip(
        'approval_signatures',
        `${claimed.length} by the word of the log; the bundle lacks their leaves`,
      );
    return;
  }
  const { evidence, root } = stated;
  if (evidence === null || root === null) return;
  const leaves: OpenLeaf[] = [];
  for (const each of approvals) {
    const leaf = openIncluded(each, { size: evidence.treeSize, root });
    if (leaf === null) {
      const detail = `leaf ${each.index}: expected a record in the tree of S, with its disclosures`;
      checks.fail('approval_signatures', 'NOT_INCLUDED', detail);
      return;
    }
    leaves.push(leaf);
  }
  const judged = judge(leaves, evidence);
  if ('fault' in judged) return checks.fail('approval_signatures', 'SIGNATURE_INVALID', judged.fault);
  const { signed } = judged;
  const missing = claimed.find(
    ({ id, approverId, approved }) =>
      !signed.some(
        (each) =>
          each.id === id &&
          each.index === approved &&
          each.outcome === 'approved' &&
          each.signer.approverId === approverId,
      ),
  );
  if (missing !== undefined) {
    const { id, approverId, approved } = missing;
    const detail = `the layer lists ${id} as approved in leaf ${isCount(approved) ? approved : 'nowhere'} with a signature of ${approverId}, and the bundle lacks this leaf`;
    checks.fail('approval_signatures', 'SIGNATURE_INVALID', detail);
    return;
  }
  const detail = `${signed.length} by ${namesOf(signed.map(({ signer }) => signer))}`;
  const unknown = signed.filter(({ isCompared }) => !isCompared).map(({ index }) => index);
  const unseen = signed.filter((each) => each.isViewUnknown).map(({ index }) => index);
  if (unknown.length === 0) {
    const masked = `; what was shown is by the word of the log for leaf ${unseen.join(', ')}: values were masked`;
    checks.pass('approval_signatures', unseen.length === 0 ? detail : `${detail}${masked}`);
  } else
    checks.skip(
      'approval_signatures',
      `${detail}; that they are about the calls that asked is by the word of the log for leaf ${unknown.join(', ')}: the call was erased or withheld`,
    );
}

/** Reads a leaf that is in the tree; null for another one. */
function openIncluded(
  { index, record, inclusion, disclosures = [] }: BundleApproval,
  { size, root }: { size: number; root: Uint8Array },
): OpenLeaf | null {
  const path = pathHashes(inclusion);
  const isIncluded = verifyInclusion({ index, size, leaf: leafHash(record), path, root });
  const clear = strictObject(record);
  if (!isIncluded || clear === null) return null;
  const committedTo = new Set<unknown>(Array.isArray(clear['_sd']) ? clear['_sd'] : []);
  const opened: Disclosure[] = [];
  for (const text of disclosures) {
    const disclosure = parseDisclosure(text);
    if (disclosure === null || !committedTo.delete(disclosureDigest(disclosure))) return null;
    opened.push(disclosure);
  }
  return { index, clear, committed: rebuild(opened) };
}

interface SignedLeaf extends Pick<DecidedApproval, 'id' | 'outcome'> {
  readonly index: number;
  readonly signer: Approver;
  /** Whether tool and arguments of the statement were compared with those of the evaluation. */
  readonly isCompared: boolean;
  /** Whether the view that was signed could not be compared. */
  readonly isViewUnknown: boolean;
}

/** Each signed decision in log order. A leaf of another form, or out of the order of the log, is a fault. */
function judge(
  leaves: readonly OpenLeaf[],
  { origin, runId }: Evidence,
): { readonly signed: readonly SignedLeaf[] } | { readonly fault: string } {
  const approvers = new Approvers();
  const opened = new Map<string, { readonly index: number; readonly evaluation: OpenEvaluation }>();
  const signed: SignedLeaf[] = [];
  let before = -1;
  for (const leaf of leaves) {
    const { index, clear } = leaf;
    if (index <= before)
      return { fault: `leaf ${index}: expected the order of the log, got it after leaf ${before}` };
    before = index;
    if (clear['type'] === 'gov.approver/1') approvers.add(index, openApprover(leaf));
    if (clear['type'] === 'gov.evaluation/1' && clear['runId'] === runId && isOpening(clear)) {
      const evaluation = openEvaluation(leaf);
      if (evaluation.approval !== null) opened.set(evaluation.approval.id, { index, evaluation });
    }
    if (clear['type'] !== 'gov.approval/1') continue;
    const decided = openApproval(leaf);
    const asked = opened.get(decided.id);
    const approver = approvers.get(decided.signed?.approverId ?? '');
    if (asked === undefined || approver === undefined || asked.evaluation.approval === null)
      return {
        fault: `leaf ${index}: expected the leaves of its request and of its approver before it, got none`,
      };
    const { id: evaluationId, approval, policySetHash } = asked.evaluation;
    const call = callOf(asked.evaluation);
    if (call === undefined) {
      const differs = `leaf ${asked.index}: expected the call of its policy input, got another one`;
      return { fault: differs };
    }
    const asking = { evaluationId, runId, openedIndex: asked.index, opened: approval };
    const seen = seenIn(asked.evaluation);
    const facts = { origin, ...asking, policySetHash, call: factsOfCall(call), seen };
    const fault = approvalFault({ ...decided, index }, approver, facts);
    if (fault !== null) return { fault: `leaf ${index}: ${fault}` };
    signed.push({
      id: decided.id,
      outcome: decided.outcome,
      index,
      signer: approver,
      isCompared: call !== null,
      isViewUnknown: decided.signature !== undefined && isViewUnknown(decided.signature, seen),
    });
  }
  return { signed };
}

/** The call that asked; null where it is withheld, undefined where the leaf commits to two calls. */
function callOf({ asked, checkpoint, policySource }: OpenEvaluation): AskedCall | null | undefined {
  if (checkpoint === null) return asked;
  const evaluated = askedCall(checkpoint, policySource);
  const { shownHash: _shown, ...older } = evaluated;
  const expected = asked?.shownHash === undefined ? older : evaluated;
  return asked === null || canonicalize(asked) === canonicalize(expected) ? evaluated : undefined;
}

const isOpening = ({ approval, decisions }: JsonObject): boolean => isObject(approval) && isObject(decisions);

/** Name and fingerprint of each approver, once. */
function namesOf(signers: readonly Approver[]): string {
  const names = signers.map(({ kind, publicKey, name }) => {
    const blob = Buffer.from(kind === 'ssh' ? (publicKey.split(' ')[1] ?? '') : publicKey, 'base64');
    return `${name ?? 'an unnamed approver'} (${kind}, ${fingerprintOf(blob)})`;
  });
  return [...new Set(names)].join(', ') || 'nobody';
}
