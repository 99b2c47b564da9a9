/**
 * The address, key file and counterpart of a context. For a plane they come from the files in its data directory.
 * Tested by `test/cli/context/config.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../contract/auth-words.ts';
import { editedText } from '../../core/text.ts';
import { addressIn, environmentOf, fullAddress, siblingOf } from './definition.ts';
import type { Context, PlaneContext, ServiceContext } from './definition.ts';
import { readRunFile } from './run-file.ts';
import { CliError, exit, usage } from '../program/exit.ts';

export interface NamedContext {
  readonly name: string;
  readonly context: Context;
}
/** A value and its source, for `gov context show`. */
export interface ValueSource<Value> {
  readonly value: Value;
  readonly from: string;
}

/**
 * The approver's key differs from the operator's: the key that asked may not decide. The key of agents may do what hooks and
 * proxies do, and nothing else.
 */
export type Role = 'operator' | 'approver' | 'agent';

/** Returns whose key a command uses on a plane of this machine. */
export function roleOf(command: string): Role {
  if (command.startsWith('approvals ')) return 'approver';
  return command === 'mcp proxy' ? 'agent' : 'operator';
}

/** Exit 5, as for every other thing that a command names and that does not exist. */
export const unknownContext = (name: string, contexts: Readonly<Record<string, Context>>): CliError =>
  new CliError(
    exit.notFound,
    `expected the name of a context, got ${JSON.stringify(name)}; contexts: ${Object.keys(contexts).join(', ') || 'none yet'}`,
    { code: 'NOT_FOUND', hint: 'see what there is: gov context list' },
  );

/** Returns the same service's context for this environment: the context with its name, else its address alone. */
export function inEnvironment(
  contexts: Readonly<Record<string, Context>>,
  chosen: { readonly name: string; readonly context: ServiceContext },
  environment: Environment,
): NamedContext {
  const { name, context } = chosen;
  if (environmentOf(context) === environment) return chosen;
  const sibling = siblingOf(contexts, chosen, environment);
  if (sibling !== undefined) return sibling;
  const baseUrl = addressIn(checkUrl(context.baseUrl), environment);
  if (baseUrl === undefined)
    throw usage(`--env: the address of context ${name} does not show where its ${environment} is`);
  // the project belongs to the other environment
  const { project: _project, environment: _environment, ...rest } = context;
  return { name, context: { ...rest, baseUrl } };
}

export const planeEnvironment = ({ dataDir }: PlaneContext): string | undefined =>
  inPlaneFile(dataDir, 'environment');

const checkUrl = (text: string): string => {
  if (URL.canParse(text) && /^https?:\/\//i.test(text)) return text;
  throw usage(
    `--base-url: expected an address such as http://127.0.0.1:7460/api/v1, got ${JSON.stringify(text)}`,
  );
};

/** Returns the address as typed, or the same service's address for this environment. Errors: exit 2. */
export function givenAddress(text: string, environment: Environment | undefined): string {
  const given = fullAddress(text, environment);
  const address = environment === undefined ? given : addressIn(given, environment);
  if (address !== undefined) return address;
  throw usage(`--env: expected an address that ends in /api/v1, got ${JSON.stringify(given)}`);
}

/** A plane made by an older version has the operator's key alone, which then takes every role. */
export function keyFile(context: Context, role: Role = 'operator'): string | undefined {
  if (context.kind === 'service') return context.apiKeyFile;
  const own = join(context.dataDir, `${role}.key`);
  return role !== 'operator' && existsSync(own) ? own : join(context.dataDir, 'local.key');
}

/** Returns a plane's current address, or its configured one if it does not serve. */
export function ownBaseUrl({ name, context }: NamedContext): ValueSource<string> {
  const from = `context ${name}`;
  if (context.kind === 'service') return { value: checkUrl(context.baseUrl), from };
  const running = readRunFile(context.dataDir).baseUrl;
  if (running !== undefined) return { value: checkUrl(running), from: `${from} (run.json)` };
  const listen = inPlaneFile(context.dataDir, 'listen');
  if (listen !== undefined)
    return { value: checkUrl(`http://${listen}/api/v1`), from: `${from} (plane.json)` };
  throw new CliError(
    exit.notFound,
    `context ${name}: expected a data plane at ${context.dataDir}; it is missing, or this user may not read it`,
    { code: 'NOT_FOUND', hint: 'gov plane init --data DIR' },
  );
}

/** A text of `plane.json`, which people edit. */
function inPlaneFile(dataDir: string, name: 'environment' | 'listen'): string | undefined {
  try {
    const value: unknown = JSON.parse(editedText(readFileSync(join(dataDir, 'plane.json'), 'utf8')));
    const found = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    const text: unknown = found.find(([key]) => key === name)?.[1];
    return typeof text === 'string' ? text : undefined;
  } catch {
    // missing or unreadable: the error of the caller names the directory
    return undefined;
  }
}

/** Returns whether traffic to the address is encrypted or stays on this machine. */
export const isPrivate = (url: URL): boolean =>
  url.protocol === 'https:' || /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(url.hostname);
