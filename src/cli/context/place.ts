/**
 * Where a context leads: its address, its key file, its counterpart in the other environment. Read from the files of a
 * plane where the context is one. `test/cli/context/config.test.ts` holds them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../contract/auth-words.ts';
import { addressIn, environmentOf, fullAddress, siblingOf } from './definition.ts';
import type { Context, PlaneContext, ServiceContext } from './definition.ts';
import { usage } from '../program/exit.ts';
import type { CliError } from '../program/exit.ts';

export interface NamedContext {
  readonly name: string;
  readonly context: Context;
}
/** A value with the place that decided it, for `gov context show`. */
export interface Decided<Value> {
  readonly value: Value;
  readonly from: string;
}

/** The key that asked may not decide, so approvals are decided as the approver. */
export type Role = 'operator' | 'approver';

export const unknownContext = (name: string, contexts: Readonly<Record<string, Context>>): CliError =>
  usage(
    `no context is named ${JSON.stringify(name)}; there is: ${Object.keys(contexts).join(', ') || 'none yet'}`,
    'gov context list',
  );

/** The context of the same service for this environment: the one that is named for it, else its address alone. */
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
    throw usage(`--env: the address of context ${name} does not tell where its ${environment} is`);
  // its project is of the other environment
  const { project: _project, environment: _environment, ...rest } = context;
  return { name, context: { ...rest, baseUrl } };
}

export const planeEnvironment = ({ dataDir }: PlaneContext): string | undefined =>
  member(join(dataDir, 'plane.json'), 'environment');

const checkUrl = (text: string): string => {
  if (URL.canParse(text) && /^https?:\/\//i.test(text)) return text;
  throw usage(
    `--base-url: expected an address such as http://127.0.0.1:7460/api/v1, got ${JSON.stringify(text)}`,
  );
};

/** An address as it was typed, or the one of the same service for this environment. Errors: exit 2. */
export function givenAddress(text: string, environment: Environment | undefined): string {
  const given = fullAddress(text, environment);
  const address = environment === undefined ? given : addressIn(given, environment);
  if (address !== undefined) return address;
  throw usage(`--env: expected an address that ends in /api/v1, got ${JSON.stringify(given)}`);
}

/** A plane that was made before there were approvers has the operator's key alone. */
export function keyFile(context: Context, role: Role = 'operator'): string | undefined {
  if (context.kind === 'service') return context.apiKeyFile;
  const approver = join(context.dataDir, 'approver.key');
  return role === 'approver' && existsSync(approver) ? approver : join(context.dataDir, 'local.key');
}

/** A plane's address: where it serves now, else where it is configured to. */
export function ownBaseUrl({ name, context }: NamedContext): Decided<string> {
  const from = `context ${name}`;
  if (context.kind === 'service') return { value: checkUrl(context.baseUrl), from };
  const running = member(join(context.dataDir, 'run.json'), 'baseUrl');
  if (running !== undefined) return { value: checkUrl(running), from: `${from} (run.json)` };
  const listen = member(join(context.dataDir, 'plane.json'), 'listen');
  if (listen !== undefined)
    return { value: checkUrl(`http://${listen}/api/v1`), from: `${from} (plane.json)` };
  throw usage(
    `context ${name}: ${context.dataDir} is not a data plane, or this user may not read it`,
    'gov plane init --data DIR',
  );
}

function member(path: string, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const found =
      typeof value === 'object' && value !== null
        ? Object.entries(value).find(([key]) => key === name)
        : undefined;
    return typeof found?.[1] === 'string' ? found[1] : undefined;
  } catch {
    // missing or unreadable: the caller tries the next place and names the directory
    return undefined;
  }
}

/** Encrypted, or not leaving this machine. */
export const isPrivate = (url: URL): boolean =>
  url.protocol === 'https:' || /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(url.hostname);
