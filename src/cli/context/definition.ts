/**
 * The form of a context: service or plane, environment, credential. A service has two environments at two addresses
 * (contract A17); their contexts are named NAME and NAME-sandbox.
 * Tested by `test/cli/context/definition.test.ts`.
 */
import { environments } from '../../contract/auth-words.ts';
import type { Environment } from '../../contract/auth-words.ts';
import { usage } from '../program/exit.ts';

/** A plane on this machine. Its data directory determines everything else. */
export interface PlaneContext {
  readonly kind: 'plane';
  readonly dataDir: string;
}
export interface ServiceContext {
  readonly kind: 'service';
  readonly baseUrl: string;
  /** Set if the address does not show the environment. */
  readonly environment?: Environment;
  /** The project of a person's calls; a key has its own. */
  readonly project?: string;
  /** Name of the stored credential (`credentials.ts`). */
  readonly credential?: string;
  /** A file that the user keeps. Used only if no credential is stored. */
  readonly apiKeyFile?: string;
  readonly trustFile?: string;
  readonly caFile?: string;
}
export type Context = PlaneContext | ServiceContext;

const texts = ['project', 'credential', 'apiKeyFile', 'trustFile', 'caFile'];

export function isContext(value: unknown): value is Context {
  if (typeof value !== 'object' || value === null) return false;
  const members = new Map<string, unknown>(Object.entries(value));
  if (members.get('kind') === 'plane') return typeof members.get('dataDir') === 'string';
  return (
    members.get('kind') === 'service' &&
    typeof members.get('baseUrl') === 'string' &&
    texts.every((key) => ['string', 'undefined'].includes(typeof members.get(key))) &&
    [undefined, ...environments].some((each) => each === members.get('environment'))
  );
}

const apiPath = /^(.*?)(\/sandbox)?\/api\/v1\/?$/;

/** Returns the environment of an address; undefined if its path does not show it. */
export function environmentAt(baseUrl: string): Environment | undefined {
  const path = apiPath.exec(new URL(baseUrl).pathname);
  if (path === null) return undefined;
  return path[2] === undefined ? 'production' : 'sandbox';
}

export const environmentOf = (context: ServiceContext): Environment | undefined =>
  context.environment ?? (URL.canParse(context.baseUrl) ? environmentAt(context.baseUrl) : undefined);

/** Returns the address of the service's other environment; undefined if the path does not show it. */
export function addressIn(baseUrl: string, environment: Environment): string | undefined {
  const url = new URL(baseUrl);
  const path = apiPath.exec(url.pathname);
  if (path === null) return undefined;
  url.pathname = `${path[1]}${environment === 'sandbox' ? '/sandbox' : ''}/api/v1`;
  return url.href;
}

/** Returns an address with the path of the API, which people may leave out. Errors: exit 2. */
export function fullAddress(text: string, environment: Environment = 'production'): string {
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) {
    throw usage(
      `--base-url: expected an address such as https://gov.example.com, got ${JSON.stringify(text.slice(0, 64))}`,
    );
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw usage('--base-url: expected an address without credentials, query or fragment, got one with them');
  if (url.pathname === '/') url.pathname = environment === 'sandbox' ? '/sandbox/api/v1' : '/api/v1';
  return url.href;
}

const suffix = '-sandbox';

/** Returns `acme` and `acme-sandbox`, from either name. */
export const pairOf = (name: string): Readonly<Record<Environment, string>> => {
  const production = name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  return { production, sandbox: `${production}${suffix}` };
};

/** Errors: exit 2 for a name with characters that need quoting in a shell, a file name or JSON. */
export function checkName(name: string, hint?: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name;
  throw usage(
    `expected a name of at most 64 letters, digits, dots, dashes and underscores that begins with a letter or digit, got ${JSON.stringify(name.slice(0, 64))}${name.length > 64 ? `… (${name.length} characters)` : ''}`,
    hint,
  );
}

/** Returns the name of the context for the other environment of the same service. */
export function siblingOf(
  contexts: Readonly<Record<string, Context>>,
  { name, context }: { readonly name: string; readonly context: ServiceContext },
  environment: Environment,
): { readonly name: string; readonly context: ServiceContext } | undefined {
  const other = pairOf(name)[environment];
  const found = Object.hasOwn(contexts, other) ? contexts[other] : undefined;
  if (found?.kind !== 'service' || environmentOf(found) !== environment) return undefined;
  const isSame = new URL(found.baseUrl).origin === new URL(context.baseUrl).origin;
  return isSame ? { name: other, context: found } : undefined;
}
