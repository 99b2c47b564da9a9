/** `gov plane stop`: SIGTERM to the holder of the lock. Tested by `test/cli/commands/plane/stop.test.ts`. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import { codeOf } from '../../../files/write-fault.ts';
import type { planeStop as spec } from '../../specs/operate/plane.ts';

const defaultTimeoutMs = 30_000;

export const run: Run<typeof spec> = async ({ flags, out, session, io, settings, signal }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  if (!existsSync(join(dataDir, 'plane.json')))
    throw new CliError(exit.notFound, `expected a plane at ${join(dataDir, 'plane.json')}`, {
      code: 'NOT_FOUND',
      hint: 'gov context list',
    });
  const { stopPlane } = await import('../../../../plane/serve/stop.ts');
  const timeoutMs = settings.timeoutMs ?? defaultTimeoutMs;
  const stopped = await stopPlane(dataDir, { timeoutMs, force: flags.force, signal }).catch(
    (cause: unknown) => {
      if (codeOf(cause) !== 'EPERM') throw cause;
      throw new CliError(exit.denied, `the process that serves ${dataDir} belongs to another user`, {
        hint: 'run gov plane stop as that user, or as root',
        cause,
      });
    },
  );
  refuseUnfinished(stopped, timeoutMs);
  if (!out.isHuman) return out.one(stopped, plainView(Object.keys(stopped)));
  const { result, pid } = stopped;
  await out.note(
    result === 'not serving'
      ? safe`no process serves ${dataDir}`
      : safe`${result} process ${pid ?? 0}, which served ${dataDir}`,
  );
};

interface StopResult {
  readonly dataDir: string;
  readonly result: string;
  readonly pid: number | null;
}

function refuseUnfinished({ result, pid, dataDir }: StopResult, timeoutMs: number): void {
  if (result === 'still serving')
    throw new CliError(
      exit.pending,
      `process ${pid ?? 0} still serves ${dataDir} after ${timeoutMs / 1000} s`,
      {
        hint: 'it ends once running requests are answered; --force kills it',
      },
    );
  if (result === 'unknown')
    throw new CliError(
      exit.conflict,
      `expected that a plane serves ${dataDir}, got ${pid === null ? 'another process' : `process ${pid}`} that uses it without serving`,
      { hint: 'a plane that starts, a backup or gov log compact: wait for its end, and try again' },
    );
}
