/**
 * `gov log prune --before TIME --archive FILE`: of a plane on this machine, or of a project of a service on it.
 * Tested by `test/cli/commands/log/prune.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { confirm } from '../../terminal/ask.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { logPrune as spec } from '../../specs/prove/log.ts';
import { plainView } from '../../terminal/view.ts';

type Call = Invocation<typeof spec>;

/** The used parts of the host's result. The host is loaded only when this command runs. */
interface PruneResult {
  readonly projectId: string;
  readonly from: number;
  readonly to: number;
  readonly archive: string | null;
  readonly archiveHash: string | null;
  readonly archiveBytes: number;
}

export const run: Run<typeof spec> = async (call) => {
  const { flags, out } = call;
  const would = await prune(call, true);
  if (flags.dryRun || would.to === would.from) {
    if (!flags.dryRun) await prune(call, false); // finishes a prune that a crash interrupted
    if (!out.isHuman) return out.one(would, plainView(Object.keys(would)));
    const what =
      would.to === would.from
        ? 'nothing to prune'
        : `events of leaves ${would.from} to ${would.to - 1} would move to the archive`;
    return out.lines([safe`${what}`]);
  }
  await confirm(
    `this moves the events of leaves ${would.from} to ${would.to - 1} of ${would.projectId} into ${flags.archive}`,
    '--yes',
    call,
  );
  const pruned = await prune(call, false);
  if (!out.isHuman) return out.one(pruned, plainView(Object.keys(pruned)));
  await out.lines([
    safe`${out.styles.green('✓')} pruned leaves ${pruned.from} to ${pruned.to - 1} of ${pruned.projectId}`,
    safe`  ${pruned.archive ?? ''}  ${pruned.archiveBytes} bytes  ${pruned.archiveHash ?? ''}`,
  ]);
};

async function prune({ flags, io, session }: Call, dryRun: boolean): Promise<PruneResult> {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const archive = resolve(io.cwd, flags.archive);
  const options = { beforeMs: Date.parse(flags.before), archive, dryRun };
  if (!existsSync(join(dataDir, 'service.json'))) {
    if (flags.projectId !== undefined)
      throw usage('--project-id: expected no id for a plane, which has one project');
    const { planePrune } = await import('../../../../plane/data/prune.ts');
    return planePrune({ dataDir, env: io.env }, options);
  }
  const { projectId: project } = flags;
  if (project === undefined) throw usage('--project-id: expected the project whose log to prune');
  const [{ operate }, { pruneLog }] = await Promise.all([
    import('../../../host/service/operator.ts'),
    import('../../../host/data/prune.ts'),
  ]);
  const place = { dataDir, env: io.env, logLevel: 'warn' };
  return operate(place, (services) => pruneLog(services, { ...options, projectId: project }));
}
