/**
 * The file of `gov doctor --bundle`: one JSON text for the people who help. It is built from named members alone, so that
 * a key, a token, an event or a variable's value has no way in; texts of checks and of the server are cleaned as well.
 * Tested by `test/cli/doctor/bundle.test.ts`, which plants secrets and looks for them.
 */
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { build } from '../../client/version.ts';
import { isObject } from '../../core/json/object.ts';
import { configPath, readObject, storable, systemConfigPath, type Variables } from '../context/config.ts';
import { credentialsPath } from '../context/credentials.ts';
import { faultIn } from '../context/stored.ts';
import { environment } from '../program/globals.ts';
import type { Io } from '../terminal/io.ts';
import type { Diagnosis } from './diagnose.ts';

/** A part of the bundle, and what it holds in words. */
interface Part {
  readonly name: string;
  readonly what: string;
  readonly value: unknown;
}

export function bundleParts({ checks, health, integrity }: Diagnosis, io: Io): readonly Part[] {
  const clean = cleaner(io);
  const { env } = io;
  const names = variableNames(env);
  return [
    { name: 'createdAt', what: 'the time', value: new Date(io.now()).toISOString() },
    {
      name: 'versions',
      what: 'versions of gov, Node and the system',
      value: { gov: build, node: process.version, platform: process.platform, arch: process.arch },
    },
    { name: 'checks', what: `the ${checks.length} results above`, value: clean(checks) },
    {
      name: 'configuration',
      what: 'contexts and settings, without keys',
      value: clean({
        user: configurationAt(configPath(env)),
        machine: configurationAt(systemConfigPath(env)),
      }),
    },
    { name: 'environment', what: `names of ${names.length} variables, without values`, value: names },
    {
      name: 'server',
      what: health === null ? 'nothing of a server: none answered' : 'health and integrity of the server',
      value: { health: clean(health), integrity: clean(withoutDetails(integrity)) },
    },
  ];
}

export const bundleText = (parts: readonly Part[]): string =>
  `${JSON.stringify({ kind: 'gov-support-bundle/1', ...Object.fromEntries(parts.map(({ name, value }) => [name, value])) }, null, 2)}\n`;

/** Without what a finding says of a record, and without the directory of the backup. */
function withoutDetails(integrity: Diagnosis['integrity']): unknown {
  if (integrity === null) return null;
  const { scrub, backup, ...others } = integrity;
  return {
    ...others,
    scrub: scrub && { ...scrub, findings: undefined },
    backup: backup && { ...backup, out: undefined },
  };
}

/** Variables that gov and the systems below it read. Names of others may be secrets of their owner. */
const readByOthers = /^(?:GOV_|XDG_|OTEL_|NODE_|LC_|SSL_CERT_|CLICOLOR|npm_config_registry$)/;
const alsoRead = new Set('HOME PATH SHELL TERM LANG TZ FORCE_COLOR PAGER EDITOR VISUAL'.split(' '));

function variableNames(env: Variables): string[] {
  const ours = new Set(environment.flatMap(([names]) => names.split(', ')));
  const isKnown = (name: string): boolean =>
    readByOthers.test(name) || alsoRead.has(name) || ours.has(name) || ours.has(name.toUpperCase());
  return Object.keys(env).filter(isKnown).sort();
}

/** What a configuration file says, member by member; a member that gov does not know by its name alone. */
function configurationAt(path: string): unknown {
  let value: Readonly<Record<string, unknown>> | undefined;
  try {
    value = readObject(path);
  } catch {
    return 'unreadable';
  }
  if (value === undefined) return null;
  const { contexts = {}, currentContext, settings = {}, aliases = {}, ...others } = value;
  return {
    currentContext: currentContext ?? null,
    contexts: isObject(contexts)
      ? Object.entries(contexts).map(([name, context]) => ({ name, ...shownContext(context) }))
      : 'unreadable',
    settings: isObject(settings) ? only(settings, storable) : 'unreadable',
    aliases: isObject(aliases) ? Object.keys(aliases) : 'unreadable',
    otherMembers: Object.keys(others),
  };
}

function shownContext(context: unknown): Record<string, unknown> {
  if (!isObject(context)) return {};
  const { baseUrl, credential, apiKeyFile, trustFile, caFile } = context;
  return {
    ...only(context, ['kind', 'environment', 'project', 'dataDir']),
    baseUrl: typeof baseUrl === 'string' ? bareAddress(baseUrl) : null,
    hasCredential: credential !== undefined,
    hasApiKeyFile: apiKeyFile !== undefined,
    hasTrustFile: trustFile !== undefined,
    hasCaFile: caFile !== undefined,
  };
}

/** The members of these names that are texts. */
const only = (value: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (typeof value[name] === 'string' ? [[name, value[name]]] : [])));

/** An address without user, password, query and fragment. */
function bareAddress(text: string): string {
  if (!URL.canParse(text)) return 'not an address';
  const url = new URL(text);
  url.username = url.password = url.search = url.hash = '';
  return url.href;
}

/** The forms of keys, tokens, webhook secrets and bearer headers. */
const secretForms =
  /\b(?:gov_[a-z]{2,8}_[0-9A-Za-z]{6,}|whsec_[\w+/=-]{8,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)|\bBearer +\S+/g;
/** User and password of an address, and its query. */
const userInfo = /([a-z][a-z0-9+.-]*:\/\/)[^/\s@]+@/gi;
const query = /([a-z][a-z0-9+.-]*:\/\/[^\s?#"']+)[?#][^\s"',;)]*/gi;
const removed = '(removed)';

/** Returns a function that removes secrets, and the home, from every text of a value. */
function cleaner({ env, now }: Io): (value: unknown) => unknown {
  const secrets = [...knownSecrets(env), ...badSettings(env, now())];
  const homes = [...new Set([env['HOME'], homedir()])].filter(
    (home) => home !== undefined && home.length > 1,
  );
  const text = (given: string): string => {
    let cleaned = given;
    for (const secret of secrets) cleaned = cleaned.replaceAll(secret, removed);
    for (const home of homes) cleaned = cleaned.replaceAll(String(home), '~');
    return cleaned.replace(secretForms, removed).replace(userInfo, '$1').replace(query, '$1');
  };
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(clean);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [text(name), clean(each)]));
  };
  return clean;
}

/** A value in the wrong place may be a secret, and errors quote it. */
function badSettings(env: Variables, now: number): string[] {
  return [configPath(env), systemConfigPath(env)].flatMap((path) => {
    const settings = settingsAt(path);
    return storable.flatMap((key) => {
      const text = settings[key];
      return typeof text === 'string' && faultIn(key, text, now) !== null ? [text] : [];
    });
  });
}

function settingsAt(path: string): Readonly<Record<string, unknown>> {
  try {
    const { settings } = readObject(path) ?? {};
    return isObject(settings) ? settings : {};
  } catch {
    return {};
  }
}

const secretVariables = ['GOV_API_KEY', 'GOV_ID_TOKEN', 'GOV_CRON_SECRET'];
const secretFiles = ['GOV_API_KEY_FILE', 'GOV_ID_TOKEN_FILE', 'GOV_CRON_SECRET_FILE'];
/** A shorter one would be a word of ordinary text. */
const shortestSecret = 6;

/** Secrets that this user has on this machine, apart from those in a keychain: no text of the bundle may have one. */
function knownSecrets(env: Variables): string[] {
  const credentials = textAt(credentialsPath(env));
  const tokens = [...credentials.matchAll(/"token": *"([^"]+)"/g)].map(([, token = '']) => token);
  const files = secretFiles.map((name) => textAt(env[name] ?? '').trim());
  return [...secretVariables.map((name) => env[name] ?? ''), ...files, ...tokens].filter(
    (secret) => secret.length >= shortestSecret,
  );
}

/** Empty for a file that is missing, large or unreadable. */
function textAt(path: string): string {
  try {
    return path !== '' && statSync(path).size < 2 ** 20 ? readFileSync(path, 'utf8') : '';
  } catch {
    return '';
  }
}
