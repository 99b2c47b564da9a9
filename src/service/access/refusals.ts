/**
 * Records refusals of known credentials as events of their project (contract O8): at most
 * `limits.failedAuthorizationsPerMinute` a minute and project, so that a client in a loop cannot fill the
 * log. The next event counts those left out. Proven by `test/service/access/refusals.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { append } from '../writes/append.ts';
import { refused } from './project-events.ts';
import type { Services } from '../port/services.ts';

interface Minute {
  readonly minute: number;
  recorded: number;
  /** Refusals left out since the last recorded one. */
  unrecorded: number;
}

const projectsHeld = 10_000;

/**
 * Implements `Services.denied` on a hosted service. Appends the event in the background; the answer never
 * waits.
 */
export function refusalRecorder(services: Services): NonNullable<Services['denied']> {
  const minutes = new Map<string, Minute>();
  return ({ id, type, project }, { operation, code }) => {
    const { now, salt, log } = services;
    const { projectId } = project;
    const nowMs = now();
    const minute = Math.floor(nowMs / 60_000);
    const known = minutes.get(projectId);
    const unrecorded = known?.unrecorded ?? 0;
    const recorded = known?.minute === minute ? known.recorded : 0;
    if (known !== undefined && recorded >= limits.failedAuthorizationsPerMinute) {
      known.unrecorded += 1;
      return;
    }
    if (minutes.size >= projectsHeld) minutes.clear();
    minutes.set(projectId, { minute, recorded: recorded + 1, unrecorded: 0 });
    const event = refused({ operation, code, unrecorded }, { nowMs, salt, by: { id, type } });
    append(services, { projectId, leaves: [event] }).catch((error: unknown) => {
      log.warn({ err: error, projectId, operation, code }, 'a refused request could not be recorded');
    });
  };
}
