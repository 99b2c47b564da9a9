/**
 * `gov context set NAME`: stores flags only, never variables or files of a working copy.
 * Tested by `test/cli/context/config.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Environment } from '../../../contract/auth-words.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { updateUserState } from '../../context/config-write.ts';
import { checkName, environmentAt, fullAddress } from '../../context/definition.ts';
import type { Context, ServiceContext } from '../../context/definition.ts';
import { readTrust } from '../../trust/read.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { contextSet as spec } from '../../specs/tool/context.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, io } = call;
  const name = checkName(args.name);
  let isNew = false;
  let current: string | undefined;
  await updateUserState(io.env, ({ config, credentials }) => {
    const before = Object.hasOwn(config.contexts, name) ? config.contexts[name] : undefined;
    const credential = before?.kind === 'service' ? before.credential : undefined;
    if (flags.apiKeyFile !== undefined && credential !== undefined && Object.hasOwn(credentials, credential))
      throw usage(
        `context ${name} has a stored credential already`,
        `remove it first: gov auth logout -C ${shellWord(name)}`,
      );
    isNew = before === undefined;
    current = config.currentContext ?? name;
    const contexts = { ...config.contexts, [name]: changed(call, before) };
    return { config: { currentContext: current, contexts }, credentials };
  });
  await out.note(
    safe`${isNew ? 'made' : 'changed'} context ${name}${current === name ? ', the current one' : ''}`,
  );
};

/** Errors: exit 2 for flags that do not go together. */
function changed(call: Call, before: Context | undefined): Context {
  const { args, flags, io } = call;
  const given = givenOf(call);
  const forService = [
    given.baseUrl,
    given.project,
    given.cacert,
    flags.apiKeyFile,
    flags.trust,
    ...flags.unset,
  ];
  if (flags.data !== undefined) {
    if (forService.some((each) => each !== undefined))
      throw usage('--data: expected no other flag, because the plane sets its address, keys and trust');
    const dataDir = resolve(io.cwd, flags.data);
    if (!existsSync(join(dataDir, 'plane.json')))
      throw usage(`--data: expected a data plane, got ${dataDir}`, 'gov plane init');
    return { kind: 'plane', dataDir };
  }
  if (before?.kind === 'plane') throw usage(`context ${args.name} is a data plane: expected --data DIR`);
  if (before === undefined && given.baseUrl === undefined)
    throw usage(
      `context ${args.name} does not exist yet: expected --base-url URL, or --data DIR for a plane`,
    );
  return service(call, before, given);
}

interface ContextFlags {
  readonly baseUrl: string | undefined;
  readonly project: string | undefined;
  readonly cacert: string | undefined;
  readonly environment: Environment | undefined;
}

/** Returns values of flags only. Resolving the settings has checked them. */
function givenOf({ globals, settings }: Call): ContextFlags {
  const { environment } = settings;
  return {
    baseUrl: typeof globals['baseUrl'] === 'string' ? globals['baseUrl'] : undefined,
    project: settings.project?.from === 'flag' ? settings.project.value : undefined,
    cacert: typeof globals['cacert'] === 'string' ? globals['cacert'] : undefined,
    environment: environment?.from === 'flag' ? environment.value : undefined,
  };
}

function service(
  { flags, io }: Call,
  before: ServiceContext | undefined,
  { baseUrl, project, cacert, environment }: ContextFlags,
): ServiceContext {
  const file = (path: string): string => {
    const whole = resolve(io.cwd, path);
    if (existsSync(whole)) return whole;
    throw usage(`${whole}: the file does not exist`);
  };
  const trust = (path: string): string => {
    readTrust(file(path));
    return file(path);
  };
  // one credential or none: a file replaces a credential that no longer exists
  const dropped: readonly string[] =
    flags.apiKeyFile === undefined ? flags.unset : [...flags.unset, 'credential'];
  const kept = Object.fromEntries(Object.entries(before ?? {}).filter(([key]) => !dropped.includes(key)));
  const address = baseUrl === undefined ? (before?.baseUrl ?? '') : fullAddress(baseUrl, environment);
  const told = environmentAt(address);
  if (environment !== undefined && told !== undefined && told !== environment)
    throw usage(`--env: the address ${address} is that of ${told}`, 'give the address too: --base-url');
  return {
    ...kept,
    kind: 'service',
    baseUrl: address,
    ...(environment === undefined ? {} : { environment }),
    ...(project === undefined ? {} : { project }),
    ...(cacert === undefined ? {} : { caFile: file(cacert) }),
    ...(flags.trust === undefined ? {} : { trustFile: trust(flags.trust) }),
    ...(flags.apiKeyFile === undefined ? {} : { apiKeyFile: file(flags.apiKeyFile) }),
  };
}
