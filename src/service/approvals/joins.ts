/**
 * One approval for the two gates of a call (contract O29): the hook of the client uses it, and the MCP proxy that gets the same
 * call joins, once. The other way is closed: a proxy runs what it is allowed to, so a hook that joined it could let a
 * second call run.
 *
 * The permissions of a call that wait to be joined are one fact of the project (`src/service/events/facts.ts`), which an
 * append changes only if nobody else did: of two proxies, one joins. The fact is only a hint. What it says is checked with the
 * log, which has the evaluation of the hook, its use of the approval, and, in a second leaf `gov.use/1`, who joined it.
 * Proven by `test/service/approvals/joins.engines.test.ts`.
 */
import type { CallSource } from '../../contract/tools.ts';
import { limits } from '../../contract/limits.ts';
import {
  escalating,
  openEvaluation,
  type Evaluation,
  type OpenEvaluation,
  type PolicySource,
} from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { subjectHash } from '../../core/decided/subject.ts';
import { isObject } from '../../core/json/object.ts';
import { canonicalize } from '../../core/json/parse.ts';
import type { Caller } from '../call/caller.ts';
import type { StoreReader } from '../../store/port/store.ts';
import { expiryTime } from '../call/log-time.ts';
import { isSamePrincipal } from '../call/principals.ts';
import type { Services } from '../port/services.ts';
import { factNames } from '../events/facts.ts';
import type { PlainEffect } from '../writes/append.ts';
import { loggedApproval, type LoggedApproval } from './logged.ts';

/** Who asks, and about what. */
export interface GovernedCall {
  readonly caller: Caller;
  readonly runId: string;
  readonly source: PolicySource;
  /** The one approval that may let the call run. Default: any approval of this call. */
  readonly approvalId?: string;
  /** The gate that asks; absent for other programs. */
  readonly gate?: CallSource;
  /** The client's id of the call. */
  readonly toolCallId?: string;
}

export type JoinChange = Extract<PlainEffect, { kind: 'saveFacts' }>;

/** The permission that an evaluation of the proxy joins. */
export interface Join {
  readonly approval: LoggedApproval;
  /** The evaluation of the hook, which used the approval. */
  readonly first: string;
  readonly change: JoinChange;
}

/** A permission that waits to be joined. */
interface Offer {
  /** Keyed hash of the client's id of the call; null without one. */
  readonly callId: string | null;
  readonly evaluationId: string;
  readonly approvalId: string;
  readonly atMs: number;
}

const joinMs = limits.joinMinutes * 60_000;

/** What keeps the permission of a hook for the proxy; null for other callers. */
export async function offeredJoin(
  services: Services,
  asked: GovernedCall,
  { approval, evaluation }: { readonly approval: LoggedApproval; readonly evaluation: Evaluation },
): Promise<JoinChange | null> {
  const subject = asked.gate === 'hook' ? subjectIn(evaluation) : null;
  if (subject === null) return null;
  const { caller, toolCallId } = asked;
  const offers = await Offers.read(services, { ...asked, subject });
  return offers.with({
    callId: toolCallId === undefined ? null : callIdOf(services, toolCallId),
    evaluationId: evaluation.id,
    approvalId: approval.approvalId,
    atMs: await expiryTime(services, caller.project.projectId),
  });
}

/**
 * The permission of the hook for this call of the proxy: with the id of the call, else the newest one of the last
 * `limits.joinSeconds`. Null for other callers, and where the log does not confirm it. Cost: one read, and about ten where
 * there is a permission.
 */
export async function joinOf(
  services: Services,
  asked: GovernedCall,
  evaluation: Evaluation,
): Promise<Join | null> {
  const subject = asked.gate === 'mcp' ? subjectIn(evaluation) : null;
  if (subject === null) return null;
  const offers = await Offers.read(services, { ...asked, subject });
  if (offers.isEmpty) return null;
  const atMs = await expiryTime(services, asked.caller.project.projectId);
  const { toolCallId, approvalId: named } = asked;
  const callId = toolCallId === undefined ? null : callIdOf(services, toolCallId);
  const offer = offers.newest((each) => {
    const ageMs = atMs - each.atMs;
    return callId === null ? ageMs < limits.joinSeconds * 1000 : each.callId === callId && ageMs < joinMs;
  });
  if (offer === null || (named !== undefined && named !== offer.approvalId)) return null;
  const approval = await confirmed(services, asked, { offer, evaluation, subject, atMs });
  return approval === null ? null : { approval, first: offer.evaluationId, change: offers.without(offer) };
}

/** The approval, if the log says that the evaluation of the hook used it for this call, and that nobody joined. */
async function confirmed(
  { store }: Services,
  { caller, runId }: GovernedCall,
  of: {
    readonly offer: Offer;
    readonly evaluation: Evaluation;
    readonly subject: string;
    readonly atMs: number;
  },
): Promise<LoggedApproval | null> {
  const { offer, evaluation, subject, atMs } = of;
  const { project } = caller;
  const { projectId } = project;
  if ((await store.leafOf(projectId, 'gov.use/1', offer.evaluationId)) !== null) return null;
  const leaf = await store.leafOf(projectId, 'gov.evaluation/1', offer.evaluationId);
  const approval = await loggedApproval(store, project, offer.approvalId);
  if (leaf === null || approval === null) return null;
  const first = openEvaluation(openLeaf(leaf));
  if (!(await isMadeFor(store, projectId, [approval.requestedBy, caller.id]))) return null;
  const isUsed = approval.used?.evaluationId === first.id && approval.decision?.outcome === 'approved';
  const isSame =
    first.runId === runId &&
    first.policySetHash === evaluation.policySetHash &&
    subjectIn(first) === subject &&
    isAskedBySame(approval.evaluation, evaluation);
  return isUsed && isSame && atMs < approval.expiresMs ? approval : null;
}

/** Whether two keys are one, or one of them made the other: an administrator's hooks have a key of their own. */
async function isMadeFor(
  store: Pick<StoreReader, 'apiKeyOf'>,
  projectId: string,
  ids: readonly [hook: string, proxy: string],
): Promise<boolean> {
  if (await isSamePrincipal(store, projectId, ids)) return true;
  const [hook, proxy] = await Promise.all(ids.map((id) => store.apiKeyOf(projectId, id)));
  return hook?.createdBy === ids[1] || proxy?.createdBy === ids[0];
}

/** Whether every policy that escalates now also escalated when the person was asked. */
function isAskedBySame(approved: OpenEvaluation, now: Evaluation): boolean {
  const known = new Set(escalating(approved.decisions).map(({ policyHash }) => policyHash));
  return escalating(now.decisions).every(({ policyHash }) => policyHash !== null && known.has(policyHash));
}

/** Null where the call was erased. */
function subjectIn({ checkpoint }: Pick<Evaluation, 'checkpoint'>): string | null {
  const context = checkpoint?.['context'];
  return isObject(context) ? subjectHash(context) : null;
}

const callIdOf = ({ fingerprint }: Services, toolCallId: string): string =>
  fingerprint(canonicalize({ toolCallId }));

/** The offers of one call, as they were read. */
class Offers {
  readonly #name: string;
  readonly #text: string | null;
  readonly #offers: readonly Offer[];

  private constructor(name: string, text: string | null) {
    this.#name = name;
    this.#text = text;
    // a fact of another form offers nothing
    const value: unknown = text === null ? [] : JSON.parse(text);
    this.#offers = Array.isArray(value) ? value.filter(isOffer) : [];
  }

  static async read(
    { store, fingerprint }: Services,
    { caller, runId, subject }: GovernedCall & { readonly subject: string },
  ): Promise<Offers> {
    const name = `${factNames.join}${fingerprint(canonicalize({ runId, subject }))}`;
    const facts = await store.facts(caller.project.projectId, [name]);
    return new Offers(name, facts.get(name)?.value ?? null);
  }

  get isEmpty(): boolean {
    return this.#offers.length === 0;
  }

  newest(fits: (offer: Offer) => boolean): Offer | null {
    return this.#offers.findLast(fits) ?? null;
  }

  with(offer: Offer): JoinChange {
    const kept = this.#offers.filter(({ atMs }) => offer.atMs - atMs < joinMs);
    return this.#change([...kept, offer].slice(-limits.joinsHeld), offer.atMs);
  }

  without(taken: Offer): JoinChange {
    return this.#change(
      this.#offers.filter((each) => each !== taken),
      taken.atMs,
    );
  }

  #change(offers: readonly Offer[], atMs: number): JoinChange {
    const fact = { name: this.#name, from: this.#text, to: JSON.stringify(offers) };
    return { kind: 'saveFacts', facts: [fact], day: Math.floor(atMs / 86_400_000) };
  }
}

function isOffer(value: unknown): value is Offer {
  if (!isObject(value)) return false;
  const { callId, evaluationId, approvalId, atMs } = value;
  return (
    (callId === null || typeof callId === 'string') &&
    typeof evaluationId === 'string' &&
    typeof approvalId === 'string' &&
    typeof atMs === 'number'
  );
}
