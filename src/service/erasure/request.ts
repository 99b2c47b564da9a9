/**
 * Erasure by two credentials, where a project requires it. One asks by a dry run and gets a request. Another,
 * which was not rotated from the first one, sends the same erasure with the request. The request is a text under a keyed hash, so the service stores nothing. Proven by
 * `test/service/erasure/handlers.test.ts`.
 */
import { timingSafeEqual } from 'node:crypto';
import type { ErasureInput } from '../../contract/erasure.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import type { Caller } from '../call/caller.ts';
import { isSamePrincipal } from '../call/principals.ts';
import type { Services } from '../port/services.ts';

interface ErasureRequest {
  /** Who asked, and when. */
  readonly by: string;
  readonly atMs: number;
}

/** The members that decide what is erased. */
function wanted(input: ErasureInput): Json {
  const { dryRun: _dryRun, request: _request, ...rest } = input;
  return rest as unknown as Json; // a parsed body is JSON
}

const stampOf = (
  { fingerprint }: Pick<Services, 'fingerprint'>,
  { project }: Caller,
  { by, atMs, input }: ErasureRequest & { readonly input: ErasureInput },
): string =>
  fingerprint(`gov.erasurerequest/1\n${project.projectId}\n${by}\n${atMs}\n${canonicalize(wanted(input))}`);

/** The request for another credential, valid for `limits.erasureRequestHours`. */
export function erasureRequest(services: Services, caller: Caller, input: ErasureInput): string {
  const asked = { by: caller.id, atMs: services.now() };
  return `${asked.by}.${asked.atMs}.${stampOf(services, caller, { ...asked, input })}`;
}

/**
 * When the first credential asked. FORBIDDEN where the request is for another erasure, by the caller, or too old.
 */
export async function requireSecondCredential(
  services: Services,
  caller: Caller,
  input: ErasureInput,
): Promise<number> {
  const { request } = input;
  const refuse = (got: string): GovError =>
    new GovError(
      'FORBIDDEN',
      `expected the request of another credential, since the project requires two, got ${got}; a dry run of the same ` +
        'erasure by one credential returns the request that another one sends',
    );
  if (request === undefined) throw refuse('none');
  const [by = '', at = '', stamp = ''] = request.split('.');
  const atMs = Number(at);
  const own = Buffer.from(stampOf(services, caller, { by, atMs, input }));
  const given = Buffer.from(stamp);
  if (own.length !== given.length || !timingSafeEqual(own, given)) throw refuse('one of another erasure');
  if (services.now() - atMs > limits.erasureRequestHours * 3_600_000) throw refuse('one that is too old');
  if (await isSamePrincipal(services.store, caller.project.projectId, [by, caller.id]))
    throw refuse('their own');
  return atMs;
}
