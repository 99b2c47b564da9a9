/**
 * What a context says: which service or plane, in which environment, with which credential. A service has two
 * environments at two addresses (contract A17); its contexts are named NAME and NAME-sandbox.
 * `test/cli/context/definition.test.ts` holds them.
 */
import { environments } from '../../contract/auth-words.ts';
import type { Environment } from '../../contract/auth-words.ts';
import { usage } from '../program/exit.ts';

/** A plane on this machine: everything follows from its data directory. */
export interface PlaneContext {
  readonly kind: 'plane';
  readonly dataDir: string;
}
export interface ServiceContext {
  readonly kind: 'service';
  readonly baseUrl: string;
  /** Where the address does not say it. */
  readonly environment?: Environment;
  /** The project that a person's calls act on; a key has its own. */
  readonly project?: string;
  /** Name of the stored credential (`credentials.ts`). */
  readonly credential?: string;
  /** A file that the user keeps; only where no credential is stored. */
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

/** Which environment an address is of; undefined where its path does not say. */
export function environmentAt(baseUrl: string): Environment | undefined {
  const path = apiPath.exec(new URL(baseUrl).pathname);
  if (path === null) return undefined;
  return path[2] === undefined ? 'production' : 'sandbox';
}

export const environmentOf = (context: ServiceContext): Environment | undefined =>
  context.environment ?? (URL.canParse(context.baseUrl) ? environmentAt(context.baseUrl) : undefined);

/** The address of the same service's other environment; undefined where the path does not tell it. */
export function addressIn(baseUrl: string, environment: Environment): string | undefined {
  const url = new URL(baseUrl);
  const path = apiPath.exec(url.pathname);
  if (path === null) return undefined;
  url.pathname = `${path[1]}${environment === 'sandbox' ? '/sandbox' : ''}/api/v1`;
  return url.href;
}

/** An address as people type it, with the path of the interface where it has none. Errors: exit 2. */
export function fullAddress(text: string, environment: Environment = 'production'): string {
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) {
    throw usage(
      `--base-url: expected an address such as https://gov.example.com, got ${JSON.stringify(text.slice(0, 64))}`,
    );
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw usage('--base-url: expected an address without credentials, query or fragment');
  if (url.pathname === '/') url.pathname = environment === 'sandbox' ? '/sandbox/api/v1' : '/api/v1';
  return url.href;
}

const suffix = '-sandbox';

/** `acme` and `acme-sandbox`, from either. */
export const pairOf = (name: string): Readonly<Record<Environment, string>> => {
  const production = name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  return { production, sandbox: `${production}${suffix}` };
};

/** Errors: exit 2 for a name that a shell, a file or a member of JSON would stumble over. */
export function checkName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name;
  throw usage(
    `expected a name of at most 64 letters, digits, dots, dashes and underscores, got ${JSON.stringify(name.slice(0, 64))}`,
  );
}

/** The context that stands for another environment of the same service, by its name. */
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
