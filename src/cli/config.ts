/**
 * The user's configuration (`config.json`: contexts) and the project's (`.gov.json`: defaults). A file in a
 * working copy comes from whoever wrote the repository, so it may not say where requests go or which
 * credential, authority or context they carry; one that tries is refused. Secret files that everybody can
 * read are refused. `test/cli/config.test.ts` holds the precedence and the refusals.
 */
import { mkdirSync, readFileSync, renameSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError, exit, usage } from './exit.ts';
import { unreadable } from './flags.ts';
import { formats } from './globals.ts';
import type { Io } from './io.ts';

/** A plane on this machine: everything follows from its data directory. */
export interface PlaneContext {
  readonly kind: 'plane';
  readonly dataDir: string;
}
export interface ServiceContext {
  readonly kind: 'service';
  readonly baseUrl: string;
  readonly apiKeyFile?: string;
  readonly trustFile?: string;
  readonly caFile?: string;
}
export type Context = PlaneContext | ServiceContext;

export interface UserConfig {
  readonly currentContext?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

export type Environment = Io['env'];
const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

export function configPath(env: Environment): string {
  const base = set(env['XDG_CONFIG_HOME']) ?? join(set(env['HOME']) ?? homedir(), '.config');
  return join(set(env['GOV_CONFIG_DIR']) ?? join(base, 'gov'), 'config.json');
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';

/** The parsed object, undefined where there is no file. Errors: exit 2. */
function readObject(path: string): Readonly<Record<string, unknown>> | undefined {
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

function isContext(value: unknown): value is Context {
  if (!isObject(value)) return false;
  const texts = ['apiKeyFile', 'trustFile', 'caFile'].every((key) =>
    ['string', 'undefined'].includes(typeof value[key]),
  );
  if (value['kind'] === 'plane') return typeof value['dataDir'] === 'string';
  return value['kind'] === 'service' && typeof value['baseUrl'] === 'string' && texts;
}

/** Empty where the user has none yet. */
export function readUserConfig(env: Environment): UserConfig {
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

/**
 * Replaces the user's configuration under a lock directory, so that two processes do not lose each other's
 * change. A crash leaves the old file, and at worst the lock, which the message then names.
 */
export function updateUserConfig(env: Environment, change: (config: UserConfig) => UserConfig): void {
  const path = configPath(env);
  const lock = `${path}.lock`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    mkdirSync(lock);
  } catch (cause) {
    throw new CliError(exit.conflict, `another process is changing ${path}`, {
      hint: `if none is, remove the directory ${lock}`,
      cause,
    });
  }
  try {
    const text = JSON.stringify(change(readUserConfig(env)), null, 2);
    writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } finally {
    rmdirSync(lock);
  }
}

/** What a project file may set: how results look, never whom the tool talks to. */
export interface ProjectConfig {
  readonly output?: string;
  readonly project?: string;
  readonly env?: string;
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
