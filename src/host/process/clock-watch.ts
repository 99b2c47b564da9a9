/**
 * Reports a system clock that jumped, and a log whose newest time is ahead of the clock: in `/health`, in the process's log,
 * and, for a jump on a plane, as an event of run `gov.system`. Proven by `test/plane/clock.test.ts`.
 */
import { parseTimestamp } from '../../core/time.ts';
import { clockChanged } from '../../service/writes/system.ts';
import type { Services } from '../../service/port/services.ts';

const lookEveryMs = 1000;

export interface ClockWatch {
  /** `clock_skew: …`, or none. */
  reasons(): readonly string[];
  /** `projectId`: the project whose log records jumps; null where the process has many. */
  start(projectId: string | null): Promise<void>;
  stop(): void;
}

export function createClockWatch(services: () => Services, jumpMs: () => number): ClockWatch {
  let timer: NodeJS.Timeout | undefined;
  let newestMs = 0;
  let told = 0;
  const reasonsOf = (nowMs: number, jump: number): readonly string[] => [
    ...(jump === 0 ? [] : [`clock_skew: ${jumpText(jump)}; correct it, or restart to accept it`]),
    ...(newestMs <= nowMs
      ? []
      : [
          `clock_skew: the newest time of the log is ${seconds(newestMs - nowMs)} ahead; it stands still until then`,
        ]),
  ];
  const look = (projectId: string | null): void => {
    const jump = jumpMs();
    if ((jump === 0) === (told === 0)) return;
    const aheadMs = jump === 0 ? told : jump;
    told = jump;
    const { log, now, salt, store } = services();
    const eventType = jump === 0 ? 'clock.corrected' : 'clock.jumped';
    log.warn(
      { aheadMs },
      jump === 0 ? 'the system clock is right again' : `${jumpText(jump)}, and is not followed`,
    );
    if (projectId === null) return;
    const event = clockChanged({ eventType, aheadMs }, { nowMs: now(), salt });
    store.append({ projectId, leaves: [event] }).catch((err: unknown) => {
      log.warn({ err }, 'could not record the jump of the clock');
    });
  };
  return {
    reasons: () => reasonsOf(services().now(), jumpMs()),
    start: async (projectId) => {
      if (projectId !== null) newestMs = await newestTime(services(), projectId);
      for (const reason of reasonsOf(services().now(), 0)) services().log.warn({}, reason);
      timer ??= setInterval(() => look(projectId), lookEveryMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}

const seconds = (ms: number): string => `${Math.round(Math.abs(ms) / 1000)} s`;
const jumpText = (ms: number): string =>
  `the system clock jumped ${seconds(ms)} ${ms < 0 ? 'back' : 'ahead'}`;

/** The time of the newest metering leaf, which every append has; Unix milliseconds. */
async function newestTime({ store }: Services, projectId: string): Promise<number> {
  const { size } = await store.head(projectId, 'metering');
  const [leaf] = size === 0 ? [] : await store.leaves(projectId, 'metering', { from: size - 1, to: size });
  const { at } = JSON.parse(leaf?.record ?? '{}') as { at?: string };
  return at === undefined ? 0 : (parseTimestamp(at) ?? 0);
}
