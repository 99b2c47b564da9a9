/**
 * `gov log index build`: of a plane on this machine, or of a project of a service on it.
 * Tested by `test/host/data/build-index.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Invocation, Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { logIndexBuild as spec } from '../../specs/prove/log.ts';
import { plainView } from '../../terminal/view.ts';
import { counted } from '../../terminal/numbers.ts';

/** The host's result. The host is loaded only when this command runs. */
interface IndexResult {
  readonly projectId: string;
  readonly size: number;
  readonly leafIndex: number;
}

export const run: Run<typeof spec> = async (call) => {
  const { out } = call;
  const built = await build(call);
  if (!out.isHuman) return out.one(built, plainView(Object.keys(built)));
  const { projectId, size, leafIndex } = built;
  await out.line(
    safe`${out.styles.green('✓')} indexed ${counted(size, 'leaf', 'leaves')} of ${projectId}: leaf ${leafIndex} has the root`,
  );
};

async function build({ flags, io, session }: Invocation<typeof spec>): Promise<IndexResult> {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { projectId } = flags;
  if (!existsSync(join(dataDir, 'service.json'))) {
    if (projectId !== undefined)
      throw usage('--project-id: expected no id for a plane, which has one project');
    const { planeBuildIndex } = await import('../../../../plane/data/build-index.ts');
    return planeBuildIndex({ dataDir, env: io.env });
  }
  if (projectId === undefined) throw usage('--project-id: expected the project whose log to index');
  const [{ operate }, { buildIndex }] = await Promise.all([
    import('../../../host/service/operator.ts'),
    import('../../../host/data/build-index.ts'),
  ]);
  return operate({ dataDir, env: io.env, logLevel: 'warn' }, (services) => buildIndex(services, projectId));
}
