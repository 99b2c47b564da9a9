/**
 * `gov plane init`: makes the plane and its context, which becomes the current one if there is none.
 * Tested by `test/cli/commands/plane/init.test.ts`.
 */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { readUserConfig } from '../../context/config.ts';
import type { Variables } from '../../context/config.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { checkName } from '../../context/definition.ts';
import { CliError, usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeInit as spec } from '../../specs/operate/plane.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { planeInit } = await import('../../../../plane/data/init.ts');
  const { data, ...options } = flags;
  const dataDir = resolve(io.cwd, data);
  refuseRenamed(readUserConfig(io.env).contexts, { dataDir, name: flags.name });
  // whole or nothing: a plane is not made where its context cannot be
  if (!existsSync(join(dataDir, 'plane.json')))
    freeName(readUserConfig(io.env).contexts, { dataDir, name: flags.name ?? basename(dataDir) });
  const made = await planeInit({ ...options, dataDir });
  const context = await addContext(io.env, { dataDir, name: flags.name ?? made.name }).catch(
    async (cause: unknown) => {
      // the plane needs no context
      if (!(cause instanceof CliError) || !unstored.has(cause.code)) throw cause;
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
    made.approverKeyFile === null
      ? safe`  approver none yet: the first gov approvals approve asks for a phrase`
      : safe`  approver ${made.approverKeyFile}: no person decides here`,
    safe`  agents   ${made.agentKeyFile}`,
    safe`  trust    ${made.trustFile}`,
  ]);
  const current = readUserConfig(io.env).currentContext;
  if (context !== null && current !== undefined && context !== current)
    await out.note(
      safe`commands go on with context ${current}; for this plane: gov context use ${shellWord(context)}, -C ${shellWord(context)}, or work in its folder`,
    );
  const which =
    context === null
      ? ` --data ${shellWord(made.dataDir)}`
      : context === current
        ? ''
        : ` -C ${shellWord(context)}`;
  return out.note(safe`next: gov plane serve${which}`);
};

/** Why a context was not stored, where the plane is whole without it. */
const unstored: ReadonlySet<string> = new Set(['WRITE_FAILED', 'CONFIG_IN_USE']);

type Contexts = ReturnType<typeof readUserConfig>['contexts'];

/** Returns the name of the directory's context, or the name that a new one may have. Errors: exit 2 for a taken or an invalid name. */
function freeName(contexts: Contexts, { dataDir, name }: { dataDir: string; name: string }): string {
  const known = contextOf(contexts, dataDir);
  if (known !== undefined) return known;
  const taken = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (taken === undefined) return checkName(name, 'give another one: --name NAME');
  const place = taken.kind === 'plane' ? `the plane in ${taken.dataDir}` : `the service at ${taken.baseUrl}`;
  throw usage(
    `expected a free name for the context, got ${JSON.stringify(name)}, which names ${place}`,
    `give another one, --name NAME; or first free this one: gov context delete ${shellWord(name)}`,
  );
}

/** Errors: exit 2 where the directory has a context of another name than the one that a flag gives. */
function refuseRenamed(
  contexts: Contexts,
  { dataDir, name }: { dataDir: string; name?: string | undefined },
): void {
  const known = contextOf(contexts, dataDir);
  if (name === undefined || known === undefined || known === name) return;
  throw usage(
    `expected --name ${known}, the context of ${dataDir}, got ${name}; nothing was changed`,
    `for a second name: gov context set ${shellWord(name)} --data ${shellWord(dataDir)}`,
  );
}

const contextOf = (contexts: Contexts, dataDir: string): string | undefined =>
  Object.entries(contexts).find(([, each]) => each.kind === 'plane' && each.dataDir === dataDir)?.[0];

/** Returns the name of the directory's context; adds a context if it has none. */
async function addContext(env: Variables, plane: { dataDir: string; name: string }): Promise<string> {
  const { dataDir } = plane;
  const known = freeName(readUserConfig(env).contexts, plane);
  await updateUserConfig(env, (config) => {
    const name = freeName(config.contexts, plane);
    return {
      currentContext: config.currentContext ?? name,
      contexts: { ...config.contexts, [name]: { kind: 'plane', dataDir } },
    };
  });
  return known;
}
