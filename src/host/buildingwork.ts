/**
 * Work on exports: in a thread that gives way to all others, and parts of what it builds in a second one beside it. What
 * fails is told once, by the first. Proven by `test/service/exportparts.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import type { Log } from '../service/log.ts';
import type { ExportPartInput, Work } from '../service/work.ts';
import type { ReaderSource } from './taskmessages.ts';
import { background, ThreadWork } from './threadwork.ts';

/** `failed`: as `ThreadWork` has it. */
export function buildingWork(
  source: ReaderSource,
  log: Log,
  failed?: (error: Error, projectId: string) => void,
): Work {
  const first = new ThreadWork(source, log, failed, background);
  const second = new ThreadWork(source, log, undefined, background);
  // one after the other: each has the thread to itself
  const part = (input: ExportPartInput) =>
    second.run('exportPart', input, { events: limits.syncProofEvents + 1 });
  return {
    run: (name, input, options) => first.run(name, input, { ...options, host: { ...options.host, part } }),
    close: async () => {
      await Promise.all([first.close(), second.close()]);
    },
  };
}
