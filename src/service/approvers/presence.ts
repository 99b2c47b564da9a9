/**
 * Where a person has to be present (contract O22, O23): an approval of what an agent asked for, and a change that loosens
 * the plane. Presence is the signature of an enrolled approver, whose key no program of the machine can use alone. Applies
 * to planes; on a service people sign in. Proven by `test/service/approvers/presence.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  changeHeader,
  changeNamespace,
  changeOf,
  changeStatement,
  readChangeSignature,
} from '../../core/approvals/change-statement.ts';
import { signatureFault } from '../../core/approvals/signature.ts';
import { openEvaluation } from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { openEvent, systemRun } from '../../core/events/record.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { StoredApproval } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { changeSigned } from '../writes/system.ts';
import { isAgent, isAgents, type Caller } from '../call/caller.ts';
import type { SignedRequest } from '../port/handler.ts';
import type { Services } from '../port/services.ts';
import { approverKind, counterOf, countedSignature } from './document.ts';
import { loggedApprovers, shownApprovers } from './logged.ts';

/** What an approval that this caller asks for needs; null where the caller is no agent, and on a service. */
export async function presenceOf(
  { store, presence }: Services,
  caller: Caller,
): Promise<'signed' | 'none' | null> {
  if (presence === undefined || !isAgent(caller)) return null;
  if (presence !== 'enrolled') return presence;
  return (await hadApprover(store, caller)) ? 'signed' : 'none';
}

/** An approver that was revoked counts: else its revocation would end the rule. */
const hadApprover = async (store: Services['store'], { project }: Caller): Promise<boolean> =>
  (await shownApprovers(store, project.projectId)).length > 0;

/**
 * FORBIDDEN for a change that loosens the plane without the signature of an approver; nothing where no approver was
 * enrolled yet. `what`: the change, after “to”.
 */
export async function requirePerson(
  services: Services,
  caller: Caller,
  { request, what }: { readonly request: SignedRequest; readonly what: string },
): Promise<void> {
  const { store, presence } = services;
  if (presence === undefined || presence === 'none' || !(await hadApprover(store, caller))) return;
  await acceptSigned(services, caller, { request, what });
}

/** FORBIDDEN where a new key has a scope that keys of agents lack, and no approver signed. */
export async function requirePersonForScopes(
  services: Services,
  caller: Caller,
  { request, scopes }: { readonly request: SignedRequest; readonly scopes: readonly string[] },
): Promise<void> {
  if (isAgents(scopes)) return;
  const beyond = scopes.filter((scope) => !isAgents([scope])).join(', ');
  await requirePerson(services, caller, { request, what: `give a key ${beyond}` });
}

/**
 * Enrolment of an approver. FORBIDDEN without the signature of another one, except for the first; for that one where an
 * agent has asked before, because the agent could have enrolled it.
 */
export async function requirePersonToEnrol(
  services: Services,
  caller: Caller,
  request: SignedRequest,
): Promise<void> {
  const { store, presence } = services;
  if (presence === undefined || presence === 'none') return;
  if (await hadApprover(store, caller))
    return acceptSigned(services, caller, { request, what: 'enrol another approver' });
  if (presence === 'enrolled' || !(await hasAgentAsked(services, caller))) return;
  const detail =
    'expected the first approver before an agent asked for an approval, and one has asked; ' +
    'stop the plane and run gov approvers recover on its machine';
  throw new GovError('FORBIDDEN', detail);
}

/**
 * Whether an agent has asked for an approval: the evaluation that opened it says so, also for a run token of a key with more
 * rights. Evaluations of releases without presence do not; the scopes of their key tell. Cost: a leaf for each approval.
 */
async function hasAgentAsked({ store }: Services, { project }: Caller): Promise<boolean> {
  const { projectId } = project;
  const askedByAgent = async ({ evaluationId, requestedBy }: StoredApproval): Promise<boolean> => {
    const leaf = await store.leafOf(projectId, 'gov.evaluation/1', evaluationId);
    if (leaf === null || openEvaluation(openLeaf(leaf)).approval?.presence !== undefined) return true;
    return isAgents((await store.apiKeyOf(projectId, requestedBy))?.scopes ?? ['*']);
  };
  for (let after: { ms: number; id: string } | undefined; ;) {
    const page = { ...(after === undefined ? {} : { after }), limit: limits.pageMax };
    const rows = await store.approvals(projectId, { atMs: 0 }, page);
    for (const row of rows) if (await askedByAgent(row)) return true;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limits.pageMax) return false;
    after = { ms: last.requestedMs, id: last.approvalId };
  }
}

const usedMs = limits.changeSignatureMinutes * 60_000;
/** The run by which signed changes of a project wait for each other; no client can name it. */
const changeTurn = 'gov.change.signed';

async function acceptSigned(
  services: Services,
  caller: Caller,
  { request, what }: { readonly request: SignedRequest; readonly what: string },
): Promise<void> {
  const { projectId, auditOrigin: origin } = caller.project;
  const refuse = (got: string): never => {
    const detail = `expected the signature of an approver to ${what}, got ${got}; run it with gov at the terminal of the plane's machine, or in the console with a passkey`;
    const change = changeOf(request, origin);
    throw new GovError('FORBIDDEN', detail, { extensions: { signatureRequired: changeHeader, change } });
  };
  if (request.header === null) return refuse('none');
  const given = readChangeSignature(request.header);
  if (given === null) return refuse(`another text in ${changeHeader}`);
  const { approverId, at } = given;
  const nowMs = services.now();
  const atMs = parseTimestamp(at);
  if (atMs === null || Math.abs(nowMs - atMs) > usedMs)
    return refuse(`one of ${at}, more than ${limits.changeSignatureMinutes} minutes from now`);
  const approver = (await loggedApprovers(services.store, projectId)).get(approverId);
  if (approver === undefined || approver.revokedIndex !== Infinity)
    return refuse('one of an unknown or revoked approver');
  const statement = changeStatement(request, { origin, approverId, at });
  const signature = { statement, ...('ssh' in given ? { ssh: given.ssh } : { passkey: given.passkey }) };
  const fault = signatureFault(signature, approver, changeNamespace);
  if (fault !== null) return refuse(`another one: ${fault}`);
  // one look and one append at a time: a signature is good for one request
  await services.runs.inTurn({ projectId, runId: changeTurn }, async () => {
    if (await wasUsed(services, projectId, statement)) refuse('one that was used before');
    const document = await services.store.document(projectId, approverKind, approverId);
    if (document === null) return refuse('one of a revoked approver');
    const counted = countedSignature(document, counterOf(signature, approver));
    const told = changeSigned({ approverId, ...signature, what }, { nowMs, salt: services.salt, by: caller });
    await append(services, {
      projectId,
      leaves: [told],
      effects: [{ kind: 'saveDocuments', changes: [counted] }],
    });
  });
}

/** Whether the log has an event of this signed statement. Looks at those that are not too old to be used again. */
async function wasUsed({ store, now }: Services, projectId: string, statement: string): Promise<boolean> {
  const filter = { runId: systemRun, eventType: 'change.signed', startMs: now() - 4 * usedMs };
  for (let after: number | undefined; ;) {
    const page = { ...(after === undefined ? {} : { after }), limit: limits.pageMax, order: 'desc' } as const;
    const leaves = await store.events(projectId, filter, { ...page, fromIndex: 0 });
    for (const { index, record, disclosures } of leaves)
      if (openEvent(index, record, disclosures ?? '').metadata['statement'] === statement) return true;
    const last = leaves.at(-1);
    if (last === undefined || leaves.length < limits.pageMax) return false;
    after = last.index;
  }
}
