/**
 * The checks of `gov doctor` that need no service: Node, the configuration files, disk, keychain and completion.
 * Tested by `test/cli/doctor/run.test.ts`.
 */
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { build } from '../../client/version.ts';
import { bytesText } from '../../core/byte-size.ts';
import { shellWord } from '../../core/shell-word.ts';
import {
  configPath,
  homeOf,
  readObject,
  readProjectConfig,
  readUserConfig,
  xdgFolder,
} from '../context/config.ts';
import type { Variables } from '../context/config.ts';
import { credentialsPath } from '../context/credentials.ts';
import { storedSettings } from '../context/settings.ts';
import { faultIn } from '../context/stored.ts';
import type { Storable } from '../context/stored.ts';
import { probeKeychain } from '../keychain/probe.ts';
import { whyNoKeychain } from '../keychain/secrets.ts';
import { lostTelemetry } from '../start/telemetry-variables.ts';
import type { Io } from '../terminal/io.ts';
import { isNewer, readUpdateState } from '../update/state.ts';
import { attemptMs, failed, ok, skipped, warning } from './finding.ts';
import type { CheckResult } from './finding.ts';

/** From this version on Node signs with ML-DSA-44. */
const wholeNode = [24, 6] as const;

export function lookAtNode(): CheckResult {
  const detail = `${process.version} for ${process.platform} ${process.arch}`;
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isWhole = major > wholeNode[0] || (major === wholeNode[0] && minor >= wholeNode[1]);
  return isWhole
    ? ok(detail)
    : warning(`${detail}: too old to check the second kind of signature`, './install.sh');
}

/** Asks nobody: it reads what a notice of updates would say. */
export function lookAtVersion({ env }: Io): CheckResult {
  const { latest } = readUpdateState(env);
  if (latest === null || !isNewer(latest)) return ok(`gov ${build}`);
  return warning(`gov ${build}; ${latest} is available`, 'docs/how-to/install.md');
}

/** Variables of the user that keep telemetry of agents from the plane. `baseUrl`: that of the plane, or null. */
export function lookAtTelemetry({ env }: Io, baseUrl: string | null): CheckResult {
  const lost = lostTelemetry(env, baseUrl);
  const [first] = lost;
  if (first === undefined) return ok('no variable of OpenTelemetry keeps it from the plane');
  const told = lost.map(({ variable, effect }) => `${variable}=${env[variable] ?? ''}: ${effect}`);
  return warning(told.join('; '), `unset ${lost.map(({ variable }) => variable).join(' ')}`);
}

/** Members of `config.json` that gov reads. */
const known = new Set(['contexts', 'currentContext', 'settings', 'aliases']);

/** The user's file, the machine's and the project's: whether gov can read them and uses all that they say. */
export function lookAtConfiguration(io: Io): CheckResult {
  const path = configPath(io.env);
  const { currentContext, contexts } = readUserConfig(io.env);
  const project = readProjectConfig(io.cwd);
  const faults = storedSettings(io.env).flatMap(({ path: file, settings }) =>
    Object.entries(settings).flatMap(([key, text]) => {
      // the reader of the file refuses other keys
      const fault = faultIn(key as Storable, text, io.now());
      return fault === null
        ? []
        : [{ detail: `${file}: ${key} is ${fault}`, next: `gov config unset ${shellWord(key)}` }];
    }),
  );
  if (currentContext !== undefined && !Object.hasOwn(contexts, currentContext))
    return failed(
      `${path}: the current context ${JSON.stringify(currentContext)} does not exist`,
      `gov context use ${shellWord(Object.keys(contexts)[0] ?? 'NAME')}`,
    );
  const unknown = Object.keys(readObject(path) ?? {}).filter((key) => !known.has(key));
  if (unknown.length > 0)
    faults.push({
      detail: `${path}: gov does not know ${unknown.map((key) => JSON.stringify(key)).join(', ')}`,
      next: 'gov config edit',
    });
  const [first] = faults;
  if (first !== undefined) return warning(faults.map(({ detail }) => detail).join('; '), first.next);
  const files = [existsSync(path) ? path : `none yet (${path})`, project.path].filter(Boolean);
  return ok(files.join(', '));
}

/** Too little for a spool, a download or a report. */
const scarceBytes = 100 * 2 ** 20;

export async function lookAtDisk({ env }: Io): Promise<CheckResult> {
  const folder = dirname(configPath(env));
  const place = existing(folder);
  const { bavail, bsize } = await statfs(place);
  const free = bytesText(bavail * bsize);
  const next = 'export GOV_CONFIG_DIR=DIR';
  if (!isWritable(place)) return warning(`this user cannot write ${folder}: gov stores nothing there`, next);
  if (bavail * bsize < scarceBytes) return warning(`${free} free at ${folder}`, `df -h ${place}`);
  return ok(`${free} free at ${folder}, which this user can write`);
}

/** The folder, or the nearest one above it that exists. */
function existing(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder));
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

/** Why the keychain of the system does not answer; null: it does, or gov uses none here. */
export const keychainFaultIn = async (env: Variables): Promise<string | null> =>
  whyNoKeychain(env) === null ? probeKeychain(env, attemptMs) : null;

export async function lookAtKeychain(
  { env }: Io,
  keychainFault: Promise<string | null>,
): Promise<CheckResult> {
  const why = whyNoKeychain(env);
  if (why !== null) return skipped(`${why}: credentials are stored in ${credentialsPath(env)}`);
  const fault = await keychainFault;
  return fault === null ? ok('it answers') : warning(`it does not answer: ${fault}`, 'export GOV_KEYCHAIN=0');
}

interface Shell {
  /** Where a completion file lies. */
  readonly files: readonly string[];
  /** Where a line may load the completion at each start. */
  readonly startup: readonly string[];
  readonly next: string;
}

function shellsOf(env: Variables): Readonly<Record<string, Shell>> {
  const home = homeOf(env);
  const data = xdgFolder(env, 'XDG_DATA_HOME');
  const fish = join(xdgFolder(env, 'XDG_CONFIG_HOME'), 'fish');
  const bashFile = 'bash-completion/completions/gov';
  const zshFile = 'zsh/site-functions/_gov';
  const shared = ['/usr/share', '/usr/local/share'];
  return {
    bash: {
      files: [...[data, ...shared].map((base) => join(base, bashFile)), '/etc/bash_completion.d/gov'],
      startup: ['.bashrc', '.bash_profile', '.profile', '.bash_completion'].map((name) => join(home, name)),
      next: "echo 'source <(gov completion bash)' >> ~/.bashrc",
    },
    zsh: {
      files: [data, ...shared].map((base) => join(base, zshFile)),
      startup: ['.zshrc', '.zprofile'].map((name) => join(env['ZDOTDIR'] || home, name)),
      next: "echo 'source <(gov completion zsh)' >> ~/.zshrc",
    },
    fish: {
      files: [join(fish, 'completions/gov.fish')],
      startup: [join(fish, 'config.fish')],
      next: `gov completion fish > ${shellWord(join(fish, 'completions/gov.fish'))}`,
    },
  };
}

export function lookAtCompletion({ env }: Io): CheckResult {
  const name = basename(env['SHELL'] ?? '');
  const shells = shellsOf(env);
  const shell = Object.hasOwn(shells, name) ? shells[name] : undefined;
  if (shell === undefined)
    return skipped(
      `SHELL is ${name === '' ? 'not set' : name}: gov completes bash, zsh, fish and PowerShell`,
    );
  const found = shell.files.find((path) => existsSync(path)) ?? shell.startup.find(loadsCompletion);
  return found === undefined ? warning(`none for ${name}`, shell.next) : ok(`${name}, by ${found}`);
}

function loadsCompletion(path: string): boolean {
  try {
    return readFileSync(path, 'utf8').includes('gov completion');
  } catch {
    return false;
  }
}
