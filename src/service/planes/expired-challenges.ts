/**
 * Notes challenges that no data plane answered in time, at the start and every minute: the report's attestation is expired
 * for good, and an event of its project says so, in one append. Of several processes one succeeds, so each is told once.
 * A crash before the append leaves the challenge to the next round. Proven by `test/service/planes/expired-challenges.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { append, unmetered } from '../events/append.ts';
import type { Services } from '../dependencies.ts';
import { challengeExpired } from './events.ts';

const everyMs = 60_000;

type Overdue = Awaited<ReturnType<Services['store']['overdueChallenges']>>[number];

/**
 * One round; answers how many were noted. What one of them fails with is thrown at the end: it keeps no other of its
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
    // of a page that others noted meanwhile the next round sees the rest
    if (found.length < atOnce || noted === notedBefore) return noted;
  }
}

/** False where it was answered, or noted by another process, meanwhile. */
async function expire(services: Services, { projectId, expiresMs, ...challenge }: Overdue): Promise<boolean> {
  const { now, salt } = services;
  const { planeId, reportId } = challenge;
  const leaves = [challengeExpired({ ...challenge, expiresMs }, { planeId, nowMs: now(), salt })];
  const effects = [{ kind: 'expireChallenge', planeId, reportId }] as const;
  const fingerprints = new Map([[0, 'telemetry'] as const]);
  try {
    await append(services, { projectId, leaves, meter: unmetered, effects, fingerprints });
    return true;
  } catch (error) {
    if (error instanceof GovError && error.code === 'CONFLICT') return false;
    throw error;
  }
}

/** The answer ends it. */
export function startExpiringChallenges(services: Services): () => void {
  let isStopped = false;
  let isRunning = false;
  const round = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    try {
      await expireChallenges(services);
    } catch (error) {
      if (isStopped) return; // the store was closed between two parts of it
      services.log.warn({ err: error }, 'challenges that have expired could not be noted yet');
    } finally {
      isRunning = false;
    }
  };
  void round();
  const timer = setInterval(() => void round(), everyMs);
  timer.unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
