/**
 * `gov plane init`: makes the plane and its context, which becomes the current one if there is none.
 * Tested by `test/cli/commands/plane/init.test.ts`.
 */
import type { Run } from '../../program/command.ts';
import { readUserConfig } from '../../context/config.ts';
import type { Variables } from '../../context/config.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeInit as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';
import { codeOf, whyUnwritable } from '../../terminal/write-fault.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { planeInit } = await import('../../../../plane/data/init.ts');
  const { data: dataDir, ...options } = flags;
  const made = await planeInit({ ...options, dataDir }).catch((cause: unknown) => {
    throw unmakeable(dataDir, cause);
  });
  const context = await addContext(io.env, { dataDir: made.dataDir, name: flags.name ?? made.name }).catch(
    async (cause: unknown) => {
      // the plane needs no context
      if (!(cause instanceof CliError) || cause.code !== 'WRITE_FAILED') throw cause;
      await out.warn(safe`no context was stored: ${cause.message}`);
      return null;
    },
  );
  if (!out.isHuman) return out.one({ ...made, context }, plainView(Object.keys(made)));
  const what = made.created ? 'made' : 'exists already, unchanged:';
  await out.lines([
    safe`${out.styles.green(what)} data plane ${out.styles.bold(made.name)} in ${made.dataDir}`,
    safe`  context  ${context ?? 'none'}`,
    safe`  address  http://${made.listen}/api/v1`,
    safe`  key      ${made.keyFile}`,
    safe`  approver ${made.approverKeyFile}`,
    safe`  agents   ${made.agentKeyFile}`,
    safe`  trust    ${made.trustFile}`,
  ]);
  const isCurrent = context !== null && context === readUserConfig(io.env).currentContext;
  const which = context === null ? ` --data ${made.dataDir}` : isCurrent ? '' : ` -C ${context}`;
  return out.note(safe`next: gov plane serve${which}`);
};

/** Explains a system error with the name of the directory; returns other errors unchanged. */
function unmakeable(dataDir: string, cause: unknown): unknown {
  if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) return cause;
  return new CliError(exit.usage, `cannot make a data plane in ${dataDir}: ${whyUnwritable(cause)}`, {
    code: codeOf(cause),
    cause,
  });
}

/** Returns the name of the directory's context; adds a context if it has none. */
async function addContext(
  env: Variables,
  { dataDir, name }: { dataDir: string; name: string },
): Promise<string> {
  const { contexts } = readUserConfig(env);
  const known = Object.entries(contexts).find(
    ([, each]) => each.kind === 'plane' && each.dataDir === dataDir,
  );
  if (known !== undefined) return known[0];
  if (Object.hasOwn(contexts, name)) {
    throw usage(
      `a context named ${JSON.stringify(name)} exists already`,
      'the plane was made; give --name for its context',
    );
  }
  await updateUserConfig(env, (config) => ({
    currentContext: config.currentContext ?? name,
    contexts: { ...config.contexts, [name]: { kind: 'plane', dataDir } },
  }));
  return name;
}
