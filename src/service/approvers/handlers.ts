/**
 * Approvers (contract O13): the keys with which people sign approvals. A principal enrols its first key itself; a further
 * one, and one for another principal, needs scope `keys:write`, so that a stolen API key of an approver signs nothing new.
 * Leaf, audit event and document are one append. The document, of an active approver, keeps a key from being enrolled twice
 * and holds the counter of a passkey; what signs follows from the leaves alone.
 * Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import type { Approver } from '../../contract/approvers.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  challengeOf,
  coseAlgorithms,
  isRelyingParty,
  registered,
  type Registration,
} from '../../core/approvals/passkey.ts';
import { readPublicKey } from '../../core/approvals/ssh.ts';
import { holds } from '../../core/credential.ts';
import { draftApprover, type ApproverChange, type EnrolledKey } from '../../core/decided/approver.ts';
import { typeId } from '../../core/id.ts';
import { formatTimestamp } from '../../core/time.ts';
import { answerOf, type AppendRequest, type Effect, type ResponseTemplate } from '../../store/port/store.ts';
import { isSamePrincipal } from '../call/principals.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { approverChanged } from '../writes/system.ts';
import { challengedParty, newChallenge } from './challenge.ts';
import { approverKind, keyDocument, withoutDocument } from './document.ts';
import { requirePersonToEnrol } from './presence.ts';
import { enrolledBody, keyFingerprint, shownApprovers } from './logged.ts';

type Operations = 'listApprovers' | 'getApprover' | 'challengeApprover' | 'enrolApprover' | 'revokeApprover';

export const approvers: Pick<Handlers, Operations> = {
  async listApprovers({ query, caller }, services) {
    const { projectId } = caller.project;
    const { status, cursor } = query;
    const all = await shownApprovers(services.store, projectId);
    const listed = status === undefined ? all : all.filter((each) => each.status === status);
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'approvers', projectId, filters: status === undefined ? {} : { status } },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      // newest first, by the index of the leaf
      read: async ({ after, limit }: { after?: { ms: number; id: string }; limit: number }) =>
        listed.filter(({ sequence }) => sequence < (after?.ms ?? Infinity)).slice(0, limit),
      position: ({ sequence, approverId }) => byAge(sequence, approverId),
    });
    return { status: 200, body: { data: rows, nextCursor } };
  },

  async getApprover({ params, caller }, services) {
    return { status: 200, body: await requireApprover(services, caller, params.approverId) };
  },

  async challengeApprover({ body, caller }, services) {
    const { name, origin, rpId = hostOf(origin) } = body;
    if (!isRelyingParty(rpId, origin)) {
      const detail = `expected an https origin, or http://localhost, and its host or a parent domain as rpId, got ${origin} and ${rpId}`;
      throw fieldError({ pointer: '/origin', in: 'body', code: 'NOT_ALLOWED', detail });
    }
    const known = await shownApprovers(services.store, caller.project.projectId);
    const own = known.filter(({ principal, status }) => principal === caller.id && status === 'active');
    return {
      status: 200,
      body: {
        challenge: newChallenge(services, caller, { origin, rpId }).toString('base64url'),
        rp: { id: rpId, name: 'gov' },
        user: { id: services.randomBytes(16).toString('base64url'), name, displayName: name },
        pubKeyCredParams: coseAlgorithms.map((alg) => ({ type: 'public-key' as const, alg })),
        timeout: limits.approverChallengeMinutes * 60_000,
        attestation: 'none',
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        excludeCredentials: own.flatMap(({ passkey }) =>
          passkey === null ? [] : [{ type: 'public-key' as const, id: passkey.credentialId }],
        ),
      },
    };
  },

  async enrolApprover({ body, caller, basePath, idempotency, request }, services) {
    const { projectId } = caller.project;
    const { name, principal = caller.id, ssh, passkey } = body;
    if ((ssh === undefined) === (passkey === undefined)) {
      const detail = 'expected exactly one of the members ssh and passkey';
      throw fieldError({ pointer: '', in: 'body', code: 'NOT_ALLOWED', detail });
    }
    await refuseEnrolment(services, caller, principal);
    await requirePersonToEnrol(services, caller, request);
    const { key, counter } =
      passkey === undefined
        ? { key: sshKey(ssh?.publicKey ?? '', principal), counter: 0 }
        : passkeyOf(services, caller, { registration: passkey, principal });
    const nowMs = services.now();
    const approverId = typeId('apv', nowMs, services.randomBytes(10));
    const at = formatTimestamp(nowMs);
    const change = { approverId, event: 'enrolled', at, key, name, actor: caller.id } as const;
    const document = keyDocument(approverId, { projectId, key, counter, createdMs: nowMs });
    const effect = { kind: 'saveDocuments', changes: [document] } as const;
    const location = `${basePath}/approvers/${approverId}`;
    const response = enrolledTemplate(enrolledBody({ ...change, index: 0 }, key), location);
    const write = idempotency === null ? {} : { idempotency: { ...idempotency, response } };
    const stored = await appendChange(services, caller, { change, effect, ...write }).catch(
      (error: unknown) => {
        if (!(error instanceof GovError) || error.code !== 'PRECONDITION_FAILED') throw error;
        const detail = `expected a key that no active approver has, got ${keyFingerprint(key)}; revoke that approver first`;
        throw new GovError('CONFLICT', detail, { cause: error });
      },
    );
    if ('replayed' in stored) return stored;
    const { body: raw, ...answer } = answerOf(response, stored.assigned);
    return { ...answer, raw };
  },

  async revokeApprover({ params, caller }, services) {
    const { approverId } = params;
    const { projectId } = caller.project;
    for (;;) {
      const approver = await requireApprover(services, caller, approverId);
      if (!(await isOwnOr(services, caller, approver.principal))) {
        const detail = `expected scope keys:write, or the principal of the approver (${approver.principal}), to revoke it`;
        throw new GovError('FORBIDDEN', detail);
      }
      if (approver.status === 'revoked') return { status: 200, body: approver };
      const at = formatTimestamp(services.now());
      const change = { approverId, event: 'revoked', at, key: null, name: null, actor: caller.id } as const;
      const stored = await services.store.document(projectId, approverKind, approverId);
      const changes = stored === null ? [] : [withoutDocument(stored)];
      try {
        await appendChange(services, caller, { change, effect: { kind: 'saveDocuments', changes } });
      } catch (error) {
        // another request counted a signature, or revoked it: look again
        if (error instanceof GovError && error.code === 'PRECONDITION_FAILED') continue;
        throw error;
      }
      return { status: 200, body: { ...approver, status: 'revoked', revokedAt: at, revokedBy: caller.id } };
    }
  },
};

const hostOf = (origin: string): string => URL.parse(origin)?.hostname ?? '';

/** The answer to an enrolment: `sequence`, its last member, is the index of the leaf. */
function enrolledTemplate({ sequence: _index, ...known }: Approver, location: string): ResponseTemplate {
  const noEvent = { event: { before: '', after: '' }, conflict: '' };
  return {
    status: 201,
    headers: { location: { ...noEvent, pieces: [location] } },
    body: { ...noEvent, pieces: [`${JSON.stringify(known).slice(0, -1)},"sequence":`, 0, '}'] },
  };
}

interface ApproverWrite extends Pick<AppendRequest, 'idempotency'> {
  readonly change: ApproverChange;
  readonly effect: Effect;
}

/** Appends the leaf of a change, and then its audit event. */
function appendChange(services: Services, caller: Caller, { change, effect, ...idempotency }: ApproverWrite) {
  const nowMs = services.now();
  return append(
    services,
    {
      ...idempotency,
      projectId: caller.project.projectId,
      leaves: [
        draftApprover(change, services.salt),
        approverChanged(change, { nowMs, salt: services.salt, by: caller }),
      ],
      effects: [effect],
    },
    { by: { caller, scopes: ['approvals:decide'] } },
  );
}

async function requireApprover({ store }: Services, caller: Caller, approverId: string): Promise<Approver> {
  const all = await shownApprovers(store, caller.project.projectId);
  const found = all.find((each) => each.approverId === approverId);
  if (found === undefined) throw notFound('approver');
  return found;
}

const isOwnOr = async ({ store }: Services, caller: Caller, principal: string): Promise<boolean> =>
  holds(caller.scopes, 'keys:write') ||
  (await isSamePrincipal(store, caller.project.projectId, [principal, caller.id]));

/** FORBIDDEN for a second key of a principal, or a key of another one, without scope keys:write. */
async function refuseEnrolment(services: Services, caller: Caller, principal: string): Promise<void> {
  const { store } = services;
  const { projectId } = caller.project;
  if (principal !== caller.id && (await store.apiKeyOf(projectId, principal)) === null) {
    const detail = `expected an API key of this project, got ${principal}; a person enrols in a session of their own`;
    throw fieldError({ pointer: '/principal', in: 'body', code: 'NOT_ALLOWED', detail });
  }
  if (holds(caller.scopes, 'keys:write')) return;
  const refuse = (what: string): never => {
    throw new GovError('FORBIDDEN', `expected scope keys:write to enrol ${what}; ask an administrator`);
  };
  if (principal !== caller.id) return refuse(`a key of another principal than ${caller.id}`);
  for (const approver of await shownApprovers(store, projectId)) {
    if (await isSamePrincipal(store, projectId, [approver.principal, principal]))
      return refuse(`another key of ${principal}, which has enrolled ${approver.approverId}`);
  }
}

function sshKey(line: string, principal: string): EnrolledKey {
  const read = readPublicKey(line);
  if ('fault' in read)
    throw fieldError({ pointer: '/ssh/publicKey', in: 'body', code: 'BAD_FORMAT', detail: read.fault });
  return { kind: 'ssh', principal, publicKey: read.publicKey, passkey: null };
}

function passkeyOf(
  services: Services,
  caller: Caller,
  { registration, principal }: { registration: Registration; principal: string },
): { key: EnrolledKey; counter: number } {
  const refuse = (detail: string): never => {
    throw fieldError({ pointer: '/passkey', in: 'body', code: 'NOT_ALLOWED', detail });
  };
  const client = challengeOf(registration.clientDataJSON);
  const rpId = client === null ? null : challengedParty(services, caller, client);
  if (client === null || rpId === null)
    return refuse(
      `expected a challenge of POST /approvers/challenge for this caller and origin, at most ${limits.approverChallengeMinutes} minutes old, got another one`,
    );
  const result = registered(registration, { ...client, rpId });
  if ('fault' in result) return refuse(result.fault);
  const { publicKey, ...passkey } = result.passkey;
  return { key: { kind: 'passkey', principal, publicKey, passkey }, counter: result.counter };
}
