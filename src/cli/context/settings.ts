/**
 * The global settings of one call: lock of an administrator, else flag, else GOV_* variable, else project file, else the
 * user's configuration, else the machine's, else default. `session.ts` has the settings that a context decides (address,
 * credential, trust). Tested by `test/cli/context/config.test.ts` and `test/cli/context/locks.test.ts`.
 */
import type { Environment } from '../../contract/auth-words.ts';
import { configPath, readProjectConfig, readSettings, storable, systemConfigPath } from './config.ts';
import type { ProjectConfig, StoredSettings } from './config.ts';
import { readLocks, refuseFlag, type Locks } from './locks.ts';
import { readSetting } from './stored.ts';
import { usage } from '../program/exit.ts';
import { kebab, readFlag } from '../program/flags.ts';
import { formats, globalFlags } from '../program/globals.ts';
import type { Io } from '../terminal/io.ts';
import type { OutputSettings, SettingFrom } from '../terminal/out.ts';

export interface Settings extends OutputSettings {
  readonly context: string | undefined;
  readonly baseUrl: string | undefined;
  /** Of an administrator; `session.ts` refuses other addresses. */
  readonly locks: Locks;
  /** The project file may set project and environment. */
  readonly project: SettingSource<string> | undefined;
  readonly environment: SettingSource<Environment> | undefined;
  readonly cacert: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly retries: number | undefined;
  readonly idempotencyKey: string | undefined;
}

/** A value and its source. */
interface SettingSource<Value> {
  readonly value: Value;
  readonly from: 'flag' | 'environment' | 'project file';
}

/** Texts of global flags as typed, by camelCase name. */
export type GivenFlags = Readonly<Record<string, string | boolean | undefined>>;
type Name = keyof typeof globalFlags;

export const fromEnvironment: Partial<Record<Name, string>> = {
  context: 'GOV_CONTEXT',
  project: 'GOV_PROJECT',
  env: 'GOV_ENV',
  baseUrl: 'GOV_BASE_URL',
  output: 'GOV_OUTPUT',
  timeout: 'GOV_TIMEOUT',
  retries: 'GOV_RETRIES',
  cacert: 'GOV_CACERT',
};

interface SettingsFile {
  readonly path: string;
  readonly from: 'configuration' | 'configuration of the machine';
  readonly settings: StoredSettings;
}

/** Settings of the configuration files, from the strongest to the weakest. */
export const storedSettings = (env: Io['env']): readonly SettingsFile[] =>
  (
    [
      [configPath(env), 'configuration'],
      [systemConfigPath(env), 'configuration of the machine'],
    ] as const
  ).map(([path, from]) => ({ path, from, settings: readSettings(path) }));

class Source {
  readonly #given: GivenFlags;
  readonly #io: Io;
  #projectFile: ProjectConfig | undefined;
  #stored: readonly SettingsFile[] | undefined;
  #locks: Locks | undefined;

  constructor(given: GivenFlags, io: Io) {
    this.#given = given;
    this.#io = io;
  }

  get projectFile(): ProjectConfig {
    this.#projectFile ??= readProjectConfig(this.#io.cwd);
    return this.#projectFile;
  }

  /** Settings of the user's file, then those of the machine's. */
  get stored(): readonly SettingsFile[] {
    this.#stored ??= storedSettings(this.#io.env);
    return this.#stored;
  }

  get locks(): Locks {
    this.#locks ??= readLocks(this.#io);
    return this.#locks;
  }

  /** The value that an administrator locked. Errors: exit 4 for a flag with another one. */
  locked(name: Name): { value: unknown; from: 'lock' } | undefined {
    const key = storable.find((each) => each === name);
    const text = key && this.locks[key];
    if (key === undefined || text === undefined) return undefined;
    const typed = this.#given[name];
    if (typeof typed === 'string') refuseFlag(key, typed, { locks: this.locks, io: this.#io });
    return { value: readSetting(key, text, this.#io.now()), from: 'lock' };
  }

  variable(name: string): string | undefined {
    const value = this.#io.env[name];
    return value === '' ? undefined : value;
  }

  switch(name: Name): boolean {
    return this.#given[name] === true;
  }

  /** Returns the checked value and its source; undefined if no flag, variable or configuration file sets it. */
  read(name: Name): { value: unknown; from: SettingFrom } | undefined {
    return this.locked(name) ?? this.typed(name) ?? this.kept(name);
  }

  /** The same of flag and variable alone. */
  typed(name: Name): { value: unknown; from: 'flag' | 'environment' } | undefined {
    const spec = globalFlags[name];
    const typed = this.#given[name];
    const now = this.#io.now();
    if (typeof typed === 'string') {
      return { value: readFlag({ flag: `--${kebab(name)}`, spec, text: typed, now }), from: 'flag' };
    }
    const variable = fromEnvironment[name];
    const text = variable === undefined ? undefined : this.variable(variable);
    if (variable === undefined || text === undefined) return undefined;
    return { value: readFlag({ flag: variable, spec, text, now }), from: 'environment' };
  }

  /** The same of the configuration files alone. */
  kept(name: Name): { value: unknown; from: SettingFrom } | undefined {
    const key = storable.find((each) => each === name);
    const found = key && this.stored.find(({ settings }) => settings[key] !== undefined);
    const text = key && found?.settings[key];
    if (found === undefined || text === undefined) return undefined;
    const now = this.#io.now();
    const flag = `${found.path}: ${name}`;
    return { value: readFlag({ flag, spec: globalFlags[name], text, now }), from: found.from };
  }

  text(name: Name): string | undefined {
    const value = this.read(name)?.value;
    return typeof value === 'string' ? value : undefined;
  }

  number(name: Name): number | undefined {
    const value = this.read(name)?.value;
    return typeof value === 'number' ? value : undefined;
  }
}

/** `extra`: the command's own formats. Errors: exit 2, naming the flag, variable or file. */
export function resolveSettings(given: GivenFlags, io: Io, extra: readonly string[] = []): Settings {
  const source = new Source(given, io);
  const forced = source.variable('GOV_FORCE_TTY');
  const tty = forced !== undefined || io.stdout.isTTY === true;
  const noInput =
    source.switch('noInput') || ['GOV_NO_INPUT', 'CI'].some((name) => source.variable(name) !== undefined);
  return {
    ...chooseFormat(source, extra),
    fields: fieldsOf(source.text('json')),
    jq: source.text('jq'),
    context: source.text('context'),
    baseUrl: source.text('baseUrl'),
    locks: source.locks,
    // read on first use: few commands need the file
    get project() {
      return choose<string>(source, 'project');
    },
    get environment() {
      return choose<Environment>(source, 'env');
    },
    cacert: source.text('cacert'),
    quiet: source.switch('quiet'),
    verbose: source.switch('verbose'),
    debug: chooseDebug(source, given),
    color: chooseColor(source, tty),
    colorErrors: chooseColor(source, io.stderr.isTTY === true),
    noInput,
    // read on first use, because it opens standard input
    get interactive() {
      return !noInput && io.stderr.isTTY === true && io.stdin.isTTY === true;
    },
    yes: source.switch('yes'),
    timeoutMs: source.number('timeout'),
    retries: source.number('retries'),
    idempotencyKey: source.text('idempotencyKey'),
    tty,
    columns: columnsOf(forced, io),
  };
}

/** Flag, else variable, else project file. The flag's declaration checks the first two. */
function choose<Value extends string>(
  source: Source,
  name: 'project' | 'env',
): SettingSource<Value> | undefined {
  const given = source.typed(name);
  // the flag's declaration and the check of the project file exclude other texts
  if (given !== undefined) return { value: given.value as Value, from: given.from };
  const value = source.projectFile[name];
  return value === undefined ? undefined : { value: value as Value, from: 'project file' };
}

const noFiles = { GOV_CONFIG_DIR: '/dev/null', GOV_SYSTEM_CONFIG: '/dev/null/none' };

/** A view of io, not a copy: copying would open standard input. */
const withVariables = (io: Io, env: Io['env']): Io => Object.create(io, { env: { value: env } });

/** The same streams and variables, without configuration files of the user and the machine, and the project's. */
export const withoutFiles = (io: Io): Io =>
  Object.create(withVariables(io, { ...io.env, ...noFiles }), { cwd: { value: '/' } });

/** Settings before the flags are read, and if reading them fails. */
export function plainSettings(io: Io): Settings {
  const bare: Io = Object.create(withVariables(io, noFiles), { policyFile: { value: '/dev/null/none' } });
  return resolveSettings({ output: 'table' }, bare);
}

function chooseFormat(source: Source, extra: readonly string[]): Pick<Settings, 'format' | 'formatFrom'> {
  const known = [...formats, ...extra];
  const locked = source.locked('output');
  const chosen = locked ?? source.typed('output');
  const filter =
    source.text('json') === undefined ? (source.text('jq') === undefined ? null : '--jq') : '--json';
  if (filter !== null) {
    const isFixed = chosen?.from === 'flag' || chosen?.from === 'lock';
    return jsonFormat(filter, isFixed ? String(chosen.value) : undefined);
  }
  if (chosen !== undefined) {
    const name = chosen.from === 'flag' ? '--output' : 'GOV_OUTPUT';
    const format = String(chosen.value);
    if (known.includes(format)) return { format, formatFrom: chosen.from };
    throw usage(`${name}: expected one of ${known.join(', ')}, got ${JSON.stringify(format.slice(0, 64))}`);
  }
  const { output } = source.projectFile;
  if (output !== undefined) return { format: output, formatFrom: 'project file' };
  const kept = source.kept('output');
  // a format of some commands, such as dot, is for those alone
  if (kept === undefined || !known.includes(String(kept.value)))
    return { format: 'table', formatFrom: 'default' };
  return { format: String(kept.value), formatFrom: kept.from };
}

/** --json and --jq choose a JSON format themselves. */
function jsonFormat(filter: string, format = 'json'): Pick<Settings, 'format' | 'formatFrom'> {
  if (format === 'json' || format === 'ndjson') return { format, formatFrom: 'flag' };
  throw usage(`--output: expected json or ndjson with ${filter}, got ${JSON.stringify(format.slice(0, 64))}`);
}

function fieldsOf(text = ''): readonly string[] | undefined {
  if (text === '') return undefined;
  const fields = text.split(',').map((field) => field.trim());
  if (!fields.includes('')) return fields;
  throw usage(`--json: expected names of fields between commas, got ${JSON.stringify(text.slice(0, 64))}`);
}

function chooseDebug(source: Source, given: GivenFlags): Settings['debug'] {
  const value = given['debug'] ?? source.variable('GOV_DEBUG');
  if (value === undefined || value === '0' || value === 'false' || value === false) return 'off';
  if (value === 'http') return 'http';
  if (value === true || ['1', 'on', 'true'].includes(value)) return 'on';
  throw usage(`--debug: expected nothing or http, got ${JSON.stringify(value)}`);
}

/** https://no-color.org and https://bixense.com/clicolors. */
function chooseColor(source: Source, tty: boolean): boolean {
  const when = source.text('color') ?? 'auto';
  if (when === 'always' || when === 'never') return when === 'always';
  if (when !== 'auto') throw usage(`--color: expected auto, always or never, got ${JSON.stringify(when)}`);
  if (source.variable('NO_COLOR') !== undefined) return false;
  const force = source.variable('FORCE_COLOR') ?? source.variable('CLICOLOR_FORCE');
  if (force !== undefined) return force !== '0';
  return tty && source.variable('CLICOLOR') !== '0' && source.variable('TERM') !== 'dumb';
}

function columnsOf(forced: string | undefined, io: Io): number {
  const asked = Number(forced);
  if (Number.isInteger(asked) && asked >= 20 && asked <= 10_000) return asked;
  // a terminal that knows no size, such as docker exec -t of a script, says 0
  return Math.max(20, io.stdout.columns || 80);
}

/** Returns whether errors before parsing should be JSON. Reads the words loosely. */
export function wantsJsonErrors(argv: readonly string[], env: Io['env']): boolean {
  if (argv.some((arg) => /^--(?:json|jq)(?:=|$)/.test(arg))) return true;
  const at = argv.findLastIndex((arg) => /^(-o|--output)$/.test(arg));
  const joined = argv.findLast((arg) => /^(-o.|--output=)/.test(arg));
  const format = at >= 0 ? argv[at + 1] : (joined?.replace(/^(-o=?|--output=)/, '') ?? env['GOV_OUTPUT']);
  return format === 'json' || format === 'ndjson';
}
