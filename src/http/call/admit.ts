/**
 * Admits a request before its body is read: envelope, overload, credential, rate, scope, media type. Proven
 * by `test/http/admit/credentials.test.ts` and `test/http/admit/scopes.test.ts`.
 */
import type { FastifyRequest } from 'fastify';
import { limits } from '../../contract/limits.ts';
import type { Scope } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import { allows, type Caller } from '../../service/call/caller.ts';
import { DenialError } from '../../service/credentials/shown.ts';
import { requireCronSecret } from '../admit/cron.ts';
import { authenticate, spend, spendOfAddress, type Gate } from '../admit/gate.ts';
import { checkAccept, checkEnvelope, checkMediaType, checkUpload } from '../admit/negotiate.ts';
import { readPresented, readToken } from '../admit/presented.ts';
import { isHeavy, type Route } from './route.ts';

/** Admits a request or throws. Returns a promise only where the store must look up a credential. */
export function admit(route: Route, request: FastifyRequest): Promise<void> | undefined {
  const { row, gate, origins, rate } = route;
  if (route.closing()) throw new GovError('SHUTTING_DOWN', 'the server is shutting down; repeat later');
  checkEnvelope(request.raw, request.originalUrl);
  request.lines = request.lines === null ? route.lines : [...request.lines, ...route.lines];
  if (row.tag === 'Health') return admitProbe(route, request);
  route.overload.check();
  // else the socket would count as idle before the answer is ready; Node resets this for the next request
  if (isHeavy(row)) request.raw.socket.setTimeout(limits.heavyTimeoutSeconds * 1000);
  if (gate !== null && (rate === 'auth' || rate === 'anonymous')) spendOfAddress(request, gate, rate);
  if (gate !== null) refuseManyShared(request, gate);
  if (row.tag === 'Auth') request.presented = readPresented(request.headers, origins);
  if (route.access === 'anyone') return admitInput(route, request);
  if (route.access === 'idToken') return admitIdToken(route, request);
  if (route.access === 'cron') {
    requireCronSecret(route, request);
    return admitInput(route, request);
  }
  const caller = authenticate(request, route);
  if (!(caller instanceof Promise)) return admitCaller(route, request, caller);
  return caller.then((found) => admitCaller(route, request, found));
}

/** RATE_LIMITED where the link in the path was used too often (contract D8), counted over all clients. */
function refuseManyShared({ params }: FastifyRequest, { rates }: Gate): void {
  const { token } = params as { readonly token?: string };
  const refusal = token === undefined ? null : rates.spend('shares', token.slice(0, 64)).refusal;
  if (refusal !== null) throw refusal;
}

/** Admits a probe. A credential only adds details, so an invalid one counts as none. */
async function admitProbe(route: Route, request: FastifyRequest): Promise<void> {
  try {
    if (readToken(request.headers) === null && request.headers.cookie === undefined) return;
    request.caller = await authenticate({ raw: request.raw, lines: [] }, route);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
  }
}

/** UNAUTHENTICATED where the request has no ID token. The handler verifies the token. */
function admitIdToken(route: Route, request: FastifyRequest): undefined {
  if ((request.presented?.bearer ?? null) !== null) return admitInput(route, request);
  const detail = 'expected an ID token of the identity provider in the header Authorization: Bearer';
  throw new GovError('UNAUTHENTICATED', detail);
}

function admitCaller(route: Route, request: FastifyRequest, caller: Caller): undefined {
  const { row, gate, rate } = route;
  request.caller = caller;
  if (gate !== null && (rate === 'default' || rate === 'events' || rate === 'exports')) {
    spend(request, gate.rates.spend(rate, caller.id, { meters: row.meters, rules: caller.rules }));
  }
  requireOperation(caller, row.scope);
  return admitInput(route, request);
}

/** Admits the same request again. Rejects where its credential has ended or lost the scope. */
export async function readmit(route: Route, { raw }: FastifyRequest): Promise<void> {
  const { access, row } = route;
  if (access === 'anyone' || access === 'idToken' || access === 'cron') return;
  const caller = await authenticate({ raw, lines: null }, route);
  requireOperation(caller, row.scope);
}

/** INVALID_CREDENTIAL for a run token where the operation needs no scope: it would act with all rights of the key. */
function requireOperation(caller: Caller, scope: Scope | null): void {
  if (scope !== null) return requireScope(caller, scope);
  if (caller.run === undefined) return;
  const detail =
    'expected an API key or a person, got the token of a run, which may only evaluate and record';
  throw new DenialError(caller, new GovError('INVALID_CREDENTIAL', detail));
}

/** INSUFFICIENT_SCOPE unless the caller holds the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (allows(caller.scopes, scope)) return;
  const extensions = { requiredScope: scope };
  const detail = `expected a key with scope ${scope}`;
  throw new DenialError(caller, new GovError('INSUFFICIENT_SCOPE', detail, { extensions }));
}

function admitInput({ row, mediaType, unsent }: Route, request: FastifyRequest): undefined {
  unsent.check(request);
  if (mediaType !== null) checkAccept(request.headers.accept, mediaType);
  if (row.upload !== undefined) checkUpload(request.raw);
  else if (row.method !== 'GET') checkMediaType(request.raw);
  return undefined;
}
