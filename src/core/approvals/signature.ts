/**
 * Whether a signed approval holds (contract O13): an enrolled key signed exactly this decision. The key was enrolled
 * before the approval was asked for, so nobody enrols one for an approval that waits, and not revoked before the
 * decision. Attacker controlled; nothing here throws. Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import type { ApproverChange, EnrolledKey } from '../decided/approver.ts';
import type { DecidedApproval, SignatureRecord } from '../decided/approval.ts';
import type { AskedCall, OpenedApproval, OpenEvaluation } from '../decided/evaluation.ts';
import { sha256 } from '../hash.ts';
import { isCount } from '../count.ts';
import { isObject } from '../json/object.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { asserted } from './passkey.ts';
import { sshSignatureFault } from './ssh.ts';
import { readStatement, sshNamespace, statementHash } from './statement.ts';
import { maskedInput, shownOf, type MaskFingerprints } from '../decided/view.ts';
import { shownHash } from '../decided/view-hash.ts';

/** An enrolled approver and the leaves of its life. */
export interface Approver extends EnrolledKey {
  readonly approverId: string;
  readonly name: string | null;
  readonly enrolledIndex: number;
  /** Infinity while it is active. */
  readonly revokedIndex: number;
}

/** The approvers of a log, from its `gov.approver/1` leaves in log order. An id is enrolled once, and revoked once. */
export class Approvers {
  readonly #byId = new Map<string, Approver>();

  add(index: number, { approverId, event, key, name }: ApproverChange): void {
    const known = this.#byId.get(approverId);
    if (event === 'enrolled' && key !== null && known === undefined) {
      this.#byId.set(approverId, { ...key, approverId, name, enrolledIndex: index, revokedIndex: Infinity });
    }
    if (event === 'revoked' && known !== undefined && index < known.revokedIndex) {
      this.#byId.set(approverId, { ...known, revokedIndex: index });
    }
  }

  get(approverId: string): Approver | undefined {
    return this.#byId.get(approverId);
  }
}

/** Why this key did not sign this statement; null if it did. `namespace`: of a signature of an SSH key. */
export function signatureFault(
  { statement, ssh, passkey }: SignatureRecord,
  { kind, publicKey, passkey: enrolled }: EnrolledKey,
  namespace = sshNamespace,
): string | null {
  if (kind === 'ssh') {
    if (ssh === undefined) return 'expected a signature of an SSH key, got another kind';
    return sshSignatureFault(ssh, { publicKey, namespace, message: statement });
  }
  if (passkey === undefined || enrolled === null)
    return 'expected a signature of a passkey, got another kind';
  const result = asserted(passkey, { ...enrolled, publicKey }, sha256(statement));
  return 'fault' in result ? result.fault : null;
}

/** What the log says about the approval besides its own leaf. */
export interface ApprovalFacts {
  readonly origin: string;
  /** The evaluation that asked, and its run. */
  readonly evaluationId: string;
  readonly runId: string;
  /** Index of its leaf, and what it opened. */
  readonly openedIndex: number;
  readonly opened: OpenedApproval;
  readonly policySetHash: string;
  /** The call that waits; null where it was erased. `definition`: the whole tool, if it is known. */
  readonly call: {
    readonly tool: string | null;
    readonly argumentsHash: string | null;
    readonly definition?: JsonObject | null;
  } | null;
  /** The recorded input of the evaluation, or the hash of its view; null where neither is known. */
  readonly seen: SignedContent | null;
}

type SignedContent = { readonly input: JsonObject; readonly isCall: boolean } | { readonly hash: string };

/** A decision. Without `reason`, or where it was erased, the comment in the statement is not compared. */
type SignedDecision = Omit<DecidedApproval, 'reason' | 'runId'> & Partial<Pick<DecidedApproval, 'reason'>>;

/** Why the decision in leaf `index` is not signed as it says; null if it is. */
export function approvalFault(
  decided: SignedDecision & { readonly index: number },
  approver: Approver | undefined,
  facts: ApprovalFacts,
): string | null {
  const { signed, signature, index } = decided;
  if (signed === undefined) return 'expected a signature, got none';
  if (signature === undefined)
    return 'expected the signature, which was erased or withheld, or has another form';
  if (approver === undefined || approver.approverId !== signed.approverId)
    return 'expected an enrolled approver, got an unknown one';
  const { enrolledIndex, revokedIndex, approverId } = approver;
  if (!(enrolledIndex < facts.openedIndex))
    return `expected an approver enrolled before leaf ${facts.openedIndex}, which asked, got leaf ${enrolledIndex}`;
  if (!(index < revokedIndex))
    return `expected an approver that is not revoked, got one revoked by leaf ${revokedIndex}`;
  if (statementHash(signature.statement) !== signed.statementHash)
    return 'expected the statement with the hash in the leaf, got another one';
  const differs = differingMember(signature.statement, { ...decided, approverId }, facts);
  if (differs !== null) return `expected the statement of this decision, got another ${differs}`;
  return signatureFault(signature, approver);
}

/** The first member in which a signed statement is about another decision. */
function differingMember(
  text: string,
  { id, evaluationId, outcome, reason, approverId }: SignedDecision & { approverId: string },
  { origin, evaluationId: openedBy, runId, opened, policySetHash, call, seen }: ApprovalFacts,
): string | null {
  if (evaluationId !== openedBy) return 'evaluationId';
  const statement = readStatement(text);
  if (statement === null) return 'form';
  const { requestedBy: principal, expiresAt } = opened;
  const expected = {
    approvalId: id,
    evaluationId,
    runId,
    outcome,
    approverId,
    origin,
    principal,
    expiresAt,
    policySetHash,
    ...(reason === undefined ? {} : { comment: reason }),
  };
  for (const [name, value] of Object.entries(expected)) if (statement[name] !== value) return name;
  const view = differingView(statement, seen);
  if (view !== null || call === null) return view;
  const { tool = null } = statement;
  const isOtherTool = call.definition !== undefined && canonicalize(tool) !== canonicalize(call.definition);
  if (toolName(tool) !== call.tool || isOtherTool) return 'tool';
  return statement['argumentsHash'] === call.argumentsHash ? null : 'argumentsHash';
}

/** Statements without `view` are of older services, and say of the view only its hash. */
function differingView(statement: JsonObject, seen: SignedContent | null): string | null {
  const { view, hidden, masked = {} } = statement;
  if (view === undefined) return null;
  if (view !== 2) return 'view';
  if (!isCount(hidden)) return 'hidden';
  if (!isMasked(masked)) return 'masked';
  if (seen === null) return null;
  if ('hash' in seen)
    return Object.keys(masked).length > 0 || statement['shownHash'] === seen.hash ? null : 'shownHash';
  const input = maskedInput(seen.input, masked);
  if (input === null) return 'masked';
  return statement['shownHash'] === shownHash(shownOf(input, seen)) ? null : 'shownHash';
}

const isMasked = (value: Json): value is MaskFingerprints =>
  isObject(value) && Object.values(value).every((each) => typeof each === 'string');

/** Whether a statement binds a view that could not be compared: the input is withheld, and values were masked. */
export function isViewUnknown({ statement }: SignatureRecord, seen: SignedContent | null): boolean {
  const { view, masked } = readStatement(statement) ?? {};
  return view === 2 && (seen === null || ('hash' in seen && masked !== undefined));
}

function toolName(tool: Json): string | null {
  const name = isObject(tool) ? tool['name'] : null;
  return typeof name === 'string' ? name : null;
}

/** The call in the leaf of an evaluation that asked, as facts. */
export const factsOfCall = (asked: AskedCall | null): ApprovalFacts['call'] =>
  asked === null
    ? null
    : { tool: toolName(asked.tool), argumentsHash: asked.argumentsHash, definition: asked.tool };

/** What an approver saw, as far as the leaf of the evaluation says. */
export function seenIn({
  checkpoint,
  policySource,
  asked,
}: Pick<OpenEvaluation, 'checkpoint' | 'policySource' | 'asked'>): SignedContent | null {
  const input = checkpoint?.['context'];
  if (isObject(input)) return { input, isCall: policySource === 'tool' };
  return asked?.shownHash === undefined ? null : { hash: asked.shownHash };
}
