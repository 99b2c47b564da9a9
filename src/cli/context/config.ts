/**
 * The user's configuration (`config.json`: contexts) and the project's (`.gov.json`: defaults). A file in a
 * working copy comes from whoever wrote the repository, so it may not say where requests go or which
 * credential, authority or context they carry; one that tries is refused. Secret files that everybody can
 * read are refused. `test/cli/context/config.test.ts` holds the precedence and the refusals.
 */
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { environments } from '../../contract/auth-words.ts';
import type { Environment } from '../../contract/auth-words.ts';
import { isContext } from './definition.ts';
import type { Context } from './definition.ts';
import { CliError, usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import { formats, projectPattern } from '../program/globals.ts';
import type { Io } from '../terminal/io.ts';

export interface UserConfig {
  readonly currentContext?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

export type Variables = Io['env'];
const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

export function configPath(env: Variables): string {
  const base = set(env['XDG_CONFIG_HOME']) ?? join(set(env['HOME']) ?? homedir(), '.config');
  return join(set(env['GOV_CONFIG_DIR']) ?? join(base, 'gov'), 'config.json');
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';

/** The parsed object, undefined where there is no file. Errors: exit 2. */
export function readObject(path: string): Readonly<Record<string, unknown>> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadable(path, cause);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // falls through to the one message for both
  }
  throw usage(`${path}: expected a JSON object`, 'mend the file or move it away');
}

/** Empty where the user has none yet. */
export function readUserConfig(env: Variables): UserConfig {
  const path = configPath(env);
  const value = readObject(path);
  if (value === undefined) return { contexts: {} };
  const { contexts = {}, currentContext } = value;
  if (!isObject(contexts) || !Object.values(contexts).every(isContext)) {
    throw usage(`${path}: expected contexts such as {"local": {"kind": "plane", "dataDir": "/var/lib/gov"}}`);
  }
  const checked = contexts as UserConfig['contexts'];
  return typeof currentContext === 'string' ? { contexts: checked, currentContext } : { contexts: checked };
}

/** What a project file may set: how results look, never whom the tool talks to. */
export interface ProjectConfig {
  readonly output?: string;
  readonly project?: string;
  readonly env?: Environment;
  /** The file, for messages. */
  readonly path?: string;
}
const allowed = new Set(['output', 'project', 'env', '$schema']);

/** The nearest `.gov.json` from the working directory upward. Errors: exit 2 for any other member. */
export function readProjectConfig(cwd: string): ProjectConfig {
  for (let directory = cwd; ; directory = dirname(directory)) {
    const path = join(directory, '.gov.json');
    const value = readObject(path);
    if (value !== undefined) return checkProject(path, value);
    if (dirname(directory) === directory) return {};
  }
}

function checkProject(path: string, value: Readonly<Record<string, unknown>>): ProjectConfig {
  const refused = Object.keys(value).find((key) => !allowed.has(key));
  if (refused !== undefined) {
    throw usage(
      `${path}: a project file may set output, project and env, not ${JSON.stringify(refused)}`,
      'addresses, authorities, credentials and contexts belong into your own configuration (gov context show)',
    );
  }
  const { output, project, env } = value;
  const texts = [output, project, env].every((each) => each === undefined || typeof each === 'string');
  if (!texts) throw usage(`${path}: expected output, project and env to be strings`);
  if (output !== undefined && !formats.some((format) => format === output)) {
    throw usage(`${path}: expected output to be one of ${formats.join(', ')}`);
  }
  if (env !== undefined && !environments.some((each) => each === env))
    throw usage(`${path}: expected env to be one of ${environments.join(', ')}`);
  if (project !== undefined && !new RegExp(projectPattern).test(String(project)))
    throw usage(`${path}: expected project to be an id such as prj_01jq3v5k8hf7wb3c9x2m4n6p8r`);
  // each member was checked above
  return { ...(value as ProjectConfig), path };
}

/** The one line of a secret file. Errors: exit 2 where it is missing, empty or readable by everybody. */
export function readSecret(path: string): string {
  let text: string;
  try {
    const { mode } = statSync(path);
    if (process.platform !== 'win32' && (mode & 0o006) !== 0) {
      throw usage(`${path}: everybody on this machine can read this secret`, `chmod 600 ${path}`);
    }
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw unreadable(path, cause);
  }
  if (!/^[\u0021-\u007e]{1,4096}$/.test(text)) throw usage(`${path}: expected one line with a key`);
  return text;
}
