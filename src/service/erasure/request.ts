/**
 * Two people for an erasure, where a project asks for it: one asks, which is a dry run and gives a request; another one,
 * who must not be the same person or hold a key that was rotated from the first, sends the same erasure with it. The
 * request is a text of ours under a keyed hash, so nothing is kept. Proven by `test/service/erasure/handlers.test.ts`.
 */
import { timingSafeEqual } from 'node:crypto';
import type { ErasureInput } from '../../contract/erasure.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import type { Caller } from '../call/handler.ts';
import { isSamePrincipal } from '../access/principals.ts';
import type { Services } from '../dependencies.ts';

interface Requested {
  /** Who asked, and when. */
  readonly by: string;
  readonly atMs: number;
}

/** What is asked for: all that decides what goes. */
function wanted(input: ErasureInput): Json {
  const { dryRun: _dryRun, request: _request, ...rest } = input;
  return rest as unknown as Json; // it came out of a body
}

const stampOf = (
  { fingerprint }: Pick<Services, 'fingerprint'>,
  { project }: Caller,
  { by, atMs, input }: Requested & { readonly input: ErasureInput },
): string =>
  fingerprint(`gov.erasurerequest/1\n${project.projectId}\n${by}\n${atMs}\n${canonicalize(wanted(input))}`);

/** What another person needs to carry it out, for `limits.erasureRequestHours`. */
export function erasureRequest(services: Services, caller: Caller, input: ErasureInput): string {
  const asked = { by: caller.id, atMs: services.now() };
  return `${asked.by}.${asked.atMs}.${stampOf(services, caller, { ...asked, input })}`;
}

/** When it was asked for. FORBIDDEN where the request is another's, of the caller itself, or too old. */
export async function requireSecondPerson(
  services: Services,
  caller: Caller,
  input: ErasureInput,
): Promise<number> {
  const { request } = input;
  const refuse = (got: string): GovError =>
    new GovError(
      'FORBIDDEN',
      `expected the request of another person, since the project asks for two, got ${got}; a dry run of the same ` +
        'erasure by one person gives what another one sends as request',
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
