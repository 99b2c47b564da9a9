/**
 * The user's configuration (`config.json`: contexts) and the project's (`.gov.json`: defaults). The author of a repository
 * controls `.gov.json`, so it must not set addresses, credentials, authorities or contexts. Secret files that every user
 * can read are rejected. Tested by `test/cli/context/config.test.ts`.
 */
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { environments } from '../../contract/auth-words.ts';
import type { Environment } from '../../contract/auth-words.ts';
import { isContext } from './definition.ts';
import type { Context } from './definition.ts';
import { CliError, usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import { formats, projectPattern } from '../program/globals.ts';
import type { Io } from '../terminal/io.ts';
import { isObject } from '../../core/json/object.ts';
import { editedText } from '../../core/text.ts';

export interface UserConfig {
  readonly currentContext?: string;
  readonly contexts: Readonly<Record<string, Context>>;
  /** Settings by the names of their flags (`gov config set`), as texts. */
  readonly settings?: StoredSettings;
  /** Words of the user, each for the words of a command (`gov alias set`). */
  readonly aliases?: Aliases;
}

export type Aliases = Readonly<Record<string, string>>;

/** Settings that a configuration file may have: global flags, and two that have no flag. */
export const storable = ['output', 'color', 'timeout', 'retries', 'updateNotice', 'updateRegistry'] as const;
export type StoredSettings = Readonly<Partial<Record<(typeof storable)[number], string>>>;

export type Variables = Io['env'];
const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/**
 * Returns the home of the user. A relative one would move all files of the user with the working directory. Errors: exit 2.
 */
export function homeOf(env: Variables): string {
  return absolute('HOME', set(env['HOME']) ?? homedir());
}

/** Returns the folder of an XDG variable, or the one below the home. Errors: exit 2 for a relative one. */
export function xdgFolder(
  env: Variables,
  name: 'XDG_CONFIG_HOME' | 'XDG_STATE_HOME' | 'XDG_DATA_HOME',
): string {
  const given = set(env[name]);
  return given === undefined ? join(homeOf(env), xdgDefaults[name]) : absolute(name, given);
}

const xdgDefaults = {
  XDG_CONFIG_HOME: '.config',
  XDG_STATE_HOME: '.local/state',
  XDG_DATA_HOME: '.local/share',
} as const;

function absolute(name: string, path: string): string {
  if (isAbsolute(path)) return path;
  throw usage(
    `${name}: expected an absolute path, got ${JSON.stringify(path.slice(0, 64))}`,
    `export ${name}=/absolute/path`,
  );
}

export function configPath(env: Variables): string {
  const folder = set(env['GOV_CONFIG_DIR']) ?? join(xdgFolder(env, 'XDG_CONFIG_HOME'), 'gov');
  return join(folder, 'config.json');
}

/** Where commands and hooks without a spool keep receipts: next to a file of the configuration. */
export const receiptsFolder = (beside: string): string => join(dirname(beside), 'receipts');

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR');

/** Returns the parsed object; undefined if the file is missing. Errors: exit 2. */
export function readObject(path: string): Readonly<Record<string, unknown>> | undefined {
  let text: string;
  try {
    text = editedText(readFileSync(path, 'utf8'));
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadable(path, cause);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // one message below serves both errors
  }
  throw usage(`${path}: expected a JSON object, got other text`, 'correct the file or move it away');
}

/** The file with settings for all users of a machine. It has settings alone. */
export const systemConfigPath = (env: Variables): string =>
  set(env['GOV_SYSTEM_CONFIG']) ?? '/etc/gov/config.json';

/** Returns the settings of a configuration file. The values are not checked. Errors: exit 2 for another form. */
export const readSettings = (path: string): StoredSettings => settingsIn(path, readObject(path) ?? {});

function settingsIn(path: string, { settings = {} }: Readonly<Record<string, unknown>>): StoredSettings {
  if (!isObject(settings) || !Object.values(settings).every((value) => typeof value === 'string'))
    throw usage(`${path}: expected settings such as {"output": "json"}, got another form`, 'gov config edit');
  const unknown = Object.keys(settings).find((key) => !storable.some((name) => name === key));
  if (unknown !== undefined)
    throw usage(
      `${path}: expected settings ${storable.join(', ')}, got ${JSON.stringify(unknown)}`,
      'gov config edit',
    );
  return settings as StoredSettings; // checked above
}

/** Returns an empty configuration if the user has none. */
export function readUserConfig(env: Variables): UserConfig {
  const path = configPath(env);
  const value = readObject(path);
  if (value === undefined) return { contexts: {} };
  const { contexts = {}, currentContext } = value;
  if (!isObject(contexts) || !Object.values(contexts).every(isContext)) {
    throw usage(`${path}: expected contexts such as {"local": {"kind": "plane", "dataDir": "/var/lib/gov"}}`);
  }
  const checked = contexts as unknown as UserConfig['contexts']; // each was checked above
  return {
    contexts: checked,
    ...(typeof currentContext === 'string' ? { currentContext } : {}),
    ...(value['settings'] === undefined ? {} : { settings: settingsIn(path, value) }),
    ...(value['aliases'] === undefined ? {} : { aliases: aliasesIn(path, value) }),
  };
}

/** Returns the user's aliases alone, also where another member of the file is broken. Errors: exit 2. */
export function readAliases(env: Variables): Aliases {
  const path = configPath(env);
  return aliasesIn(path, readObject(path) ?? {});
}

function aliasesIn(path: string, { aliases = {} }: Readonly<Record<string, unknown>>): Aliases {
  if (isObject(aliases) && Object.values(aliases).every((text) => typeof text === 'string'))
    return aliases as Aliases; // checked above
  throw usage(
    `${path}: expected aliases such as {"denied": "events list"}, got another form`,
    'gov config edit',
  );
}

/** The members that a project file may set: the form of results, never the service or the credential. */
export interface ProjectConfig {
  readonly output?: string;
  readonly project?: string;
  readonly env?: Environment;
  /** Path of the file, for messages. */
  readonly path?: string;
}
const allowed = new Set(['output', 'project', 'env', '$schema']);

/** Reads the nearest `.gov.json` from the working directory upward. Errors: exit 2 for any other member. */
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
      `${path}: expected output, project and env only, got ${JSON.stringify(refused)}`,
      'set addresses, authorities, credentials and contexts in your own configuration (gov context show)',
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

/** Returns the one line of a secret file. Errors: exit 2 if it is missing or empty, or if every user can read it. */
export function readSecret(path: string): string {
  let text: string;
  try {
    const { mode } = statSync(path);
    if (process.platform !== 'win32' && (mode & 0o006) !== 0) {
      throw usage(`${path}: expected a secret, got a file that every user can read`, `chmod 600 ${path}`);
    }
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw unreadable(path, cause);
  }
  if (!/^[\u0021-\u007e]{1,4096}$/.test(text)) throw usage(`${path}: expected one line with a key`);
  return text;
}
