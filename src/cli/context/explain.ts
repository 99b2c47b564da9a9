/**
 * Where each setting of a call comes from: every source that names a value, the strongest first. The first one without a
 * problem is in use. Tested by `test/cli/context/explain.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { configPath, readProjectConfig, readUserConfig, storable } from './config.ts';
import { planeFolderAt } from './folder.ts';
import { lockable, policyPath, readLocks } from './locks.ts';
import { kebab } from '../program/flags.ts';
import type { Invocation } from './command.ts';
import { CliError, usage } from '../program/exit.ts';
import type { NamedContext } from './place.ts';
import { fromEnvironment, storedSettings } from './settings.ts';
import { faultIn } from './stored.ts';

export const explained = ['context', 'baseUrl', 'project', 'env', ...storable] as const;
type ExplainedSetting = (typeof explained)[number];

export interface Candidate {
  readonly value: string;
  /** A flag, a variable, a file with its line, a context, or `default`. */
  readonly from: string;
  /** Why gov does not use the value; null: it can. */
  readonly problem: string | null;
}

type Call = Pick<Invocation<never>, 'globals' | 'io' | 'session'>;

const defaults: Partial<Record<ExplainedSetting, string>> = {
  output: 'table, or tab-separated values into a pipe',
  color: 'auto',
  timeout: 'that of the operation',
  retries: '2',
  updateNotice: 'false',
};

/** Returns the name as one of `names`. Errors: exit 2. */
export function keyIn<Name extends string>(names: readonly Name[], text: string): Name {
  const key = names.find((each) => each === text);
  if (key !== undefined) return key;
  throw usage(
    `expected one of ${names.join(', ')}, got ${JSON.stringify(text.slice(0, 64))}`,
    'a context stores address, project, environment and authorities: gov context set NAME',
  );
}

/** Errors: exit 2 for a configuration file that cannot be read. */
export function candidatesOf(name: ExplainedSetting, call: Call): readonly Candidate[] {
  const { globals, io } = call;
  const typed = globals[name];
  const variable = new Map<string, string>(Object.entries(fromEnvironment)).get(name) ?? '';
  const found: Candidate[] = ofLocks(name, call);
  const add = (value: string, from: string, problem: string | null = null): void =>
    void found.push({ value, from, problem });
  if (typeof typed === 'string') add(typed, `--${kebab(name)}`);
  if (io.env[variable]) add(io.env[variable], variable);
  const project = readProjectConfig(io.cwd);
  const ofProject = name === 'output' || name === 'project' || name === 'env' ? project[name] : undefined;
  if (ofProject !== undefined) add(ofProject, lineOf(project.path ?? '', name));
  found.push(...ofContext(name, call));
  const key = storable.find((each) => each === name);
  for (const { path, settings } of key === undefined ? [] : storedSettings(io.env)) {
    const value = key && settings[key];
    if (key !== undefined && value !== undefined)
      add(value, lineOf(path, name), faultIn(key, value, io.now()));
  }
  const standard = defaults[name];
  if (standard !== undefined) add(standard, 'default');
  return found;
}

function ofLocks(name: ExplainedSetting, { io }: Call): Candidate[] {
  const key = lockable.find((each) => each === name);
  const value = key && readLocks(io)[key];
  return value === undefined
    ? []
    : [{ value, from: `${lineOf(policyPath(io), name)}, locked`, problem: null }];
}

function ofContext(name: ExplainedSetting, { io, session }: Call): Candidate[] {
  if (name === 'context') return currentContextOf(io);
  if (name !== 'baseUrl' && name !== 'project' && name !== 'env') return [];
  const chosen = contextOf(session);
  if (chosen === null) return [];
  const from = `context ${chosen.name}`;
  if (name === 'baseUrl') {
    const { baseUrl, dataDir } = { baseUrl: undefined, dataDir: undefined, ...chosen.context };
    return [{ value: baseUrl ?? `that of the plane in ${dataDir}`, from, problem: null }];
  }
  if (chosen.context.kind === 'plane') return [];
  const value =
    name === 'project' ? chosen.context.project : name === 'env' ? chosen.context.environment : undefined;
  return value === undefined ? [] : [{ value, from, problem: null }];
}

function currentContextOf(io: Call['io']): Candidate[] {
  const { currentContext, contexts } = readUserConfig(io.env);
  const here = planeFolderAt(io.cwd, contexts);
  const ofFolder =
    typeof here?.name === 'string' ? [{ value: here.name, from: 'folder of the plane', problem: null }] : [];
  if (currentContext === undefined) return ofFolder;
  const problem = !Object.hasOwn(contexts, currentContext)
    ? 'refused: there is no context of this name'
    : here?.name === null
      ? `not used in the folder of another plane, ${here.dataDir}`
      : null;
  return [
    ...ofFolder,
    { value: currentContext, from: lineOf(configPath(io.env), 'currentContext'), problem },
  ];
}

/** Null also for a name without a context, which `context` reports. */
function contextOf(session: Call['session']): NamedContext | null {
  try {
    return session.context();
  } catch (cause) {
    if (cause instanceof CliError) return null;
    throw cause;
  }
}

/** The file with the line that names the member first, as editors read it. */
function lineOf(path: string, member: string): string {
  const lines = readFileSync(path, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.includes(`"${member}"`));
  return at < 0 ? path : `${path}:${at + 1}`;
}
