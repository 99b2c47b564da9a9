/**
 * Ends challenges without an answer in time, at the start and every minute. One append marks the report's
 * attestation as expired for good and adds an event to its project. Of several processes one succeeds, so
 * there is one event. A crash before the append leaves the challenge to the next round. Proven by
 * `test/service/planes/expired-challenges.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { append } from '../writes/append.ts';
import { polling } from '../call/poller.ts';
import type { Services } from '../port/services.ts';
import { challengeExpired } from './events.ts';

const everyMs = 60_000;

type Overdue = Awaited<ReturnType<Services['store']['overdueChallenges']>>[number];

/**
 * One round; returns how many challenges it ended. An error of one challenge is thrown at the end of its
 * page.
 */
export async function expireChallenges(
  services: Services,
  atOnce: number = limits.expiredAtOnce,
): Promise<number> {
  const { store, now } = services;
  for (let noted = 0; ;) {
    const notedBefore = noted;
    const found = await store.overdueChallenges(now(), atOnce);
    const failures: unknown[] = [];
    for (const each of found) {
      try {
        if (await expire(services, each)) noted += 1;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    // where other processes handled a part of the page, the next round reads the rest
    if (found.length < atOnce || noted === notedBefore) return noted;
  }
}

/** False where the plane answered or another process ended it in the meantime. */
async function expire(services: Services, { projectId, expiresMs, ...challenge }: Overdue): Promise<boolean> {
  const { now, salt } = services;
  const { planeId, reportId } = challenge;
  const leaves = [challengeExpired({ ...challenge, expiresMs }, { planeId, nowMs: now(), salt })];
  const effects = [{ kind: 'expireChallenge', planeId, reportId }] as const;
  const fingerprints = new Map([[0, 'telemetry'] as const]);
  try {
    await append(services, { projectId, leaves, effects, fingerprints });
    return true;
  } catch (error) {
    if (error instanceof GovError && error.code === 'CONFLICT') return false;
    throw error;
  }
}

/** The returned function stops it. */
export const startExpiringChallenges = (services: Services) =>
  polling({
    everyMs,
    poll: () => expireChallenges(services),
    log: services.log,
    failed: 'expired challenges could not be marked yet',
    level: 'warn',
  });
