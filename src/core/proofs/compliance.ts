/**
 * The layer `policy_compliance` (`docs/reference/proof-format.md`): the policies in force decided every governed event, and each event
 * followed its decision. Input comes in five rounds: approvers of the log, evaluations of the run in log order, approvals,
 * uses of approvals, governed events. Rounds of later leaves may follow, unless these change an earlier judgement.
 * Claims and checks follow from clear members of leaves below the tree size, except two facts: the evaluation that an
 * event names, and the input of an evaluation. Proven by `test/core/proofs/compliance.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import { approvalFault, type Approvers } from '../approvals/signature.ts';
import type { DecidedApproval, UseRecord } from '../decided/approval.ts';
import type { EvaluatedCall, OpenedApproval } from '../decided/evaluation.ts';
import type { ListCommitment } from '../graphs/rows.ts';
import { hashText } from '../hash.ts';
import { canonicalize, type JsonObject } from '../json/parse.ts';
import {
  approves,
  grants,
  isInTime,
  isSameCall,
  joinsCall,
  lastUse,
  type DecidedCall,
} from '../approvals/decided-call.ts';
import { noPolicyActive } from './layers.ts';
import { ReportedCalls, type CallReport } from './reported-calls.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { type LayerResult, verdictOf } from './statement.ts';

/** Type of governed events: an evaluation that the event names must allow each of them. */
export const governedEventType = 'tool.call';

/** An evaluation of the run: its leaf, and what follows from earlier leaves and from its inputs. */
export interface EvaluatedLeaf {
  readonly index: number;
  readonly id: string;
  readonly policySetHash: string;
  readonly policyIndex: number | null;
  readonly combined: PolicyAction;
  /** The approval that the evaluation opened, or null. */
  readonly approval: OpenedApproval | null;
  readonly decisions: ListCommitment;
  /** The policy set that `gov.policy/1` leaves below this index put in force. */
  readonly inForce: { readonly policySetHash: string; readonly policyIndex: number | null };
  /** Whether a recomputation gives the recorded result; null if the inputs were erased. */
  readonly recomputes: boolean | null;
  /** Whether every policy in force was evaluated; an evaluation of chosen policies decides nothing. */
  readonly whole: boolean;
  /** The call that was evaluated. */
  readonly call: EvaluatedCall;
  /** Its subject (`src/core/decided/subject.ts`); null where it was erased or is no call of a tool. */
  readonly subject?: string | null;
  /** The hash of what an approver sees of it; absent where it is unknown. */
  readonly shownHash?: string | undefined;
  /** When the decision expires without an approval, in Unix milliseconds; Infinity: never. */
  readonly expiresMs: number;
}

/** A decided approval of the run. */
export type DecidedLeaf = Omit<DecidedApproval, 'runId' | 'reason'> &
  Partial<Pick<DecidedApproval, 'reason'>> & { readonly index: number };

/** A use of an approval: the evaluation that let the approved call run, or the one that joined it. */
export type UseLeaf = Omit<UseRecord, 'runId'> & { readonly index: number };

/** A governed event of the run. */
export interface GovernedEvent {
  readonly index: number;
  /** The evaluation that the event names; null if it names no readable one. */
  readonly evaluationId: string | null;
  /** Whether any policy was in force when the event was recorded. */
  readonly policyActive: boolean;
  /** When the event was recorded, in Unix milliseconds. */
  readonly serverMs: number;
  /** The call of the event. */
  readonly call: EvaluatedCall;
  /** The id that its client gave the call, or null. */
  readonly callId?: string | null;
  /** Whether the event reports a call from elsewhere: telemetry or a transcript. */
  readonly isReport?: boolean;
}

const checkIds = [
  'sets_were_in_force',
  'decisions_recompute',
  'every_governed_event_decided',
  'calls_as_evaluated',
  'decisions_were_fresh',
  'nothing_ran_after_deny',
  'escalations_approved',
  'approvals_used_once',
  'escalations_signed',
] as const;
type CheckId = (typeof checkIds)[number];
type Violation = { readonly check: CheckId; readonly index: number };

/** The run, the origin of its log, and the approvers of the log below the tree size. */
interface RunLog {
  readonly origin: string;
  readonly runId: string;
  readonly approvers: Approvers;
}

/** Accumulates the layer. Memory: about 800 bytes an evaluation. */
export class PolicyCompliance {
  readonly #known = new Map<string, DecidedCall>();
  /** By id of the approval: the evaluation that opened it. */
  readonly #opened = new Map<string, DecidedCall>();
  /** Evaluations whose approvals were used, in log order of the uses. */
  readonly #granted: DecidedCall[] = [];
  #uses = 0;
  readonly #decisions = new ListRoot();
  readonly #sets = new Set<string>();
  readonly #failed = new Set<CheckId>();
  #firstViolation: Violation | null = null;
  readonly #counts = {
    denied: 0,
    escalated: 0,
    notRecomputed: 0,
    governed: 0,
    undecided: 0,
    uncompared: 0,
  };
  readonly #decided = new Set<string>(); // call ids of events that a decision allowed
  readonly #reports = new ReportedCalls();
  /** Ids of evaluations and approvals that were named before they were known. */
  readonly #named = new Set<string>();
  #isOvertaken = false;
  #isGoverned = false;
  readonly #log: RunLog;
  /** Whether an approval of the run is signed, or had to be. */
  #signs = false;
  /** Approvals whose signature does not hold, by the index of their leaf. */
  readonly #forged = new Set<number>();

  constructor(log: RunLog) {
    this.#log = log;
  }

  /** Whether a later leaf changed the judgement of an earlier event: only a new pass over all leaves is right. */
  get isOvertaken(): boolean {
    return this.#isOvertaken;
  }

  /** About how many bytes it has in memory: 800 an evaluation with its call, 120 an id. */
  get bytes(): number {
    return 800 * this.#known.size + 120 * (this.#decided.size + this.#reports.size + this.#named.size);
  }

  evaluation(leaf: EvaluatedLeaf): void {
    const { index, id, policySetHash, policyIndex, combined, decisions, inForce, recomputes } = leaf;
    this.#isGoverned = true;
    const approvalId = leaf.approval?.id ?? '';
    if (this.#named.has(id) || this.#named.has(approvalId)) this.#isOvertaken = true;
    const item = { combined, decisions, id, index, policyIndex, policySetHash };
    this.#decisions.add(`\0${canonicalize(item)}`);
    if (this.#sets.size < limits.statedPolicySets) this.#sets.add(policySetHash);
    if (combined === 'deny') this.#counts.denied++;
    if (combined === 'escalate') this.#counts.escalated++;
    const wasInForce = inForce.policySetHash === policySetHash && inForce.policyIndex === policyIndex;
    if (!wasInForce) this.#violation('sets_were_in_force', index);
    if (recomputes === null) this.#counts.notRecomputed++;
    if (recomputes === false) this.#violation('decisions_recompute', index);
    const { approval, whole, call, subject = null, expiresMs, shownHash } = leaf;
    const known: DecidedCall = {
      index,
      combined,
      approval,
      whole,
      call,
      subject,
      shownHash,
      erased: recomputes === null,
      expiresMs,
      policySetHash,
      approvedAt: Infinity,
      approver: null,
      signer: null,
      used: false,
      isJudged: false,
      grant: null,
      joins: null,
      joinedBy: null,
      use: null,
    };
    this.#known.set(id, known);
    if (approval !== null) this.#opened.set(approval.id, known);
    if (approval?.signatureRequired === true) this.#signs = true;
  }

  /** Counts an approval that the evaluation opened, that another person gave than the requester, and in time. */
  approval(given: DecidedLeaf): void {
    const known = this.#find(this.#known, given.evaluationId);
    if (known === undefined || !approves(given, known.approval)) return;
    if (given.index >= known.approvedAt) return;
    if (known.isJudged) this.#isOvertaken = true;
    known.approvedAt = given.index;
    known.approver = given.approver;
    if (given.signed !== undefined) this.#signed(given, known);
  }

  /** Notes an id that is not known yet. The service makes no longer ids than those of clients. */
  #find(calls: ReadonlyMap<string, DecidedCall>, id: string): DecidedCall | undefined {
    const found = calls.get(id);
    if (found === undefined && id.length <= limits.identifierChars) this.#named.add(id);
    return found;
  }

  /** Checks the signature of an approval. */
  #signed(given: DecidedLeaf, known: DecidedCall): void {
    this.#signs = true;
    const { approval: opened, index: openedIndex, policySetHash, call, erased, shownHash } = known;
    const approver = this.#log.approvers.get(given.signed?.approverId ?? '');
    if (opened === null) return;
    const facts = {
      origin: this.#log.origin,
      evaluationId: given.evaluationId,
      runId: this.#log.runId,
      openedIndex,
      opened,
      policySetHash,
      call: erased ? null : call,
      seen: shownHash === undefined ? null : { hash: shownHash },
    };
    if (approvalFault(given, approver, facts) === null) known.signer = approver ?? null;
    else this.#forged.add(given.index);
  }

  /**
   * Counts a use: the approval lets the same call run under the same policies, once, until it expires. A use with the id of
   * the evaluation that used it joins.
   */
  use({ id, evaluationId, at, index }: UseLeaf): void {
    const first = this.#known.get(id);
    const by = this.#find(this.#known, evaluationId);
    if (first !== undefined) return this.#join(first, by, { at, index });
    this.#uses++;
    const opened = this.#find(this.#opened, id);
    if (opened === undefined || by === undefined) return;
    if (opened.isJudged || by.isJudged) this.#isOvertaken = true;
    if (opened.use !== null) this.#violation('approvals_used_once', index);
    else if (grants(opened, by, at)) {
      opened.use = { by, ran: null };
      by.grant = opened;
      this.#granted.push(opened);
    }
  }

  /** The proxy joins the permission that the hook of the same call used, once. */
  #join(first: DecidedCall, by: DecidedCall | undefined, { at, index }: Pick<UseLeaf, 'at' | 'index'>): void {
    const opened = first.grant;
    if (by === undefined || opened === null) return;
    if (by.isJudged) this.#isOvertaken = true;
    if (first.joinedBy !== null) this.#violation('approvals_used_once', index);
    else if (isInTime(opened, at) && joinsCall(first, by)) {
      first.joinedBy = by;
      by.joins = first;
      by.grant = opened;
    }
  }

  /**
   * Counts a governed event. One evaluation by all policies in force serves one later event. A report without a decision
   * waits for the event of the same call that names one: telemetry may come before the record of the program that asked.
   */
  governed(event: GovernedEvent): void {
    const { index, evaluationId, policyActive, serverMs, call, callId = null } = event;
    if (policyActive) this.#isGoverned = true;
    const named = evaluationId === null ? undefined : this.#find(this.#known, evaluationId);
    // the answer that a proxy joined has the evaluation of the hook
    const known = named?.used === true && named.joinedBy !== null ? named.joinedBy : named;
    if (known === undefined && event.isReport === true && callId !== null && policyActive) {
      this.#reports.add({ index, callId });
      return;
    }
    this.#counts.governed++;
    const decided = known !== undefined && known.whole && known.index < index && !known.used;
    if (decided && callId !== null) this.#decided.add(callId);
    if (!decided && policyActive) {
      this.#counts.undecided++;
      this.#violation('every_governed_event_decided', index);
    }
    if (known === undefined) return;
    known.used = true;
    known.isJudged = true;
    if (known.grant !== null) known.grant.isJudged = true;
    if (serverMs > lastUse(known)) this.#violation('decisions_were_fresh', index);
    if (known.erased) this.#counts.uncompared++;
    else if (!isSameCall(known.call, call)) this.#violation('calls_as_evaluated', index);
    if (known.combined === 'deny') this.#violation('nothing_ran_after_deny', index);
    if (known.combined === 'escalate') this.#escalated(known, index);
  }

  /** Telemetry says that the call which it reported as `from` is the call `to`. */
  joined(join: { readonly from: string; readonly to: string }): void {
    this.#reports.join(join);
  }

  /** Judges an event of an escalated call. */
  #escalated(known: DecidedCall, index: number): void {
    const { approvedAt, use, approval, signer } = known.grant ?? known;
    if (!(approvedAt < index)) this.#violation('escalations_approved', index);
    const isUnsigned = approval?.signatureRequired === true && signer === null;
    if (isUnsigned || this.#forged.has(approvedAt)) this.#violation('escalations_signed', index);
    // the event of the second gate is about the same call
    if (use === null || known.joins !== null) return;
    if (use.ran !== null) this.#violation('approvals_used_once', index);
    use.ran ??= index;
  }

  /**
   * Returns the layer below the leaves so far; vacuous if no policy was in force at any governed event and nothing was
   * evaluated. Later leaves can still be added.
   */
  finish(): LayerResult {
    if (!this.#isGoverned) return noPolicyActive();
    const reports = this.#reports.undecided(this.#decided);
    const failed = new Set(this.#failed);
    if (reports.length > 0) failed.add('every_governed_event_decided');
    // a layer of a run without uses and signatures has the same text as before there were any
    const absent = new Set<CheckId>();
    if (this.#uses === 0) absent.add('approvals_used_once');
    if (!this.#signs) absent.add('escalations_signed');
    const ids = checkIds.filter((id) => !absent.has(id));
    const checks = ids.map((id) => ({ id, pass: !failed.has(id) }));
    return {
      layer: 'policy_compliance',
      claims: {
        vacuous: false,
        policySets: [...this.#sets],
        decisions: { n: this.#decisions.size, root: hashText(this.#decisions.root()) },
        ...this.#counts,
        governed: this.#counts.governed + reports.length,
        undecided: this.#counts.undecided + reports.length,
        ...(this.#uses === 0 ? {} : { approvals: this.#approvals() }),
        firstViolation: this.#firstWith(reports),
      },
      checks,
      verdict: verdictOf(checks),
    };
  }

  /** With the first of the reports that no event decided. */
  #firstWith([report]: readonly CallReport[]): Violation | null {
    const first = this.#firstViolation;
    if (report === undefined || (first !== null && first.index <= report.index)) return first;
    return { check: 'every_governed_event_decided', index: report.index };
  }

  /** Each used approval: who gave and who signed it, and the indexes of its leaves and of the event that ran. */
  #approvals(): JsonObject {
    const items = this.#granted.map(({ index, approval, approver, signer, approvedAt, use }) => ({
      id: approval?.id ?? null,
      opened: index,
      approver,
      approved: approvedAt,
      allowed: use?.by.index ?? null,
      ran: use?.ran ?? null,
      ...(use === null || use.by.joinedBy === null ? {} : { joined: use.by.joinedBy.index }),
      ...(this.#signs ? { signed: signer?.approverId ?? null } : {}),
    }));
    const root = new ListRoot();
    for (const item of items) root.add(`\0${canonicalize(item)}`);
    const listed = items.slice(0, limits.statedApprovals);
    return { n: root.size, root: hashText(root.root()), listed };
  }

  #violation(check: CheckId, index: number): void {
    this.#failed.add(check);
    if (this.#firstViolation === null || index < this.#firstViolation.index) {
      this.#firstViolation = { check, index };
    }
  }
}
