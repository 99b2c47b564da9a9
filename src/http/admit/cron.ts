/**
 * Admits the calls of a scheduler by their header alone (contract B17). The secret is compared before failures are
 * counted, so that nobody can lock the scheduler out with wrong ones. Proven by `test/http/admit/cron.test.ts`.
 */
import type { FastifyRequest } from 'fastify';
import { cronHeader } from '../../contract/auth-words.ts';
import { GovError } from '../../contract/problems.ts';
import type { Services } from '../../service/port/services.ts';
import { spendOfAddress, type Gate } from './gate.ts';

/** UNAUTHENTICATED without a secret, INVALID_CREDENTIAL for another one, RATE_LIMITED for too many of them. */
export function requireCronSecret(
  { services, gate }: { readonly services: Pick<Services, 'cronSecret' | 'log'>; readonly gate: Gate | null },
  request: FastifyRequest,
): void {
  const sent = request.headers[cronHeader];
  const { cronSecret, log } = services;
  if (typeof sent === 'string' && cronSecret.matches(sent)) return;
  const operation = request.routeOptions.url;
  if (!cronSecret.isSet)
    log.warn({ operation }, 'a scheduler called, and no cron secret is configured: set GOV_CRON_SECRET');
  else log.warn({ operation }, 'a call of a scheduler was refused: no cron secret, or another one');
  if (gate !== null) spendOfAddress(request, gate, 'cron');
  if (sent === undefined) {
    throw new GovError('UNAUTHENTICATED', `expected the secret of the scheduler in the header ${cronHeader}`);
  }
  throw new GovError(
    'INVALID_CREDENTIAL',
    `expected the secret of the scheduler in ${cronHeader}, got another one`,
  );
}
