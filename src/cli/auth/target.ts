/**
 * Where somebody signs in, and what the contexts for it are called: NAME for production, NAME-sandbox for the sandbox.
 * Decided, and refused, before anybody is asked to sign in. `test/cli/auth/commands.test.ts` holds it.
 */
import type { Environment } from '../../contract/auth-words.ts';
import { environments } from '../../contract/auth-words.ts';
import type { Invocation } from '../program/command.ts';
import { readUserConfig } from '../context/config.ts';
import { addressIn, checkName, environmentAt, pairOf } from '../context/definition.ts';
import type { Context } from '../context/definition.ts';
import { readCredentials } from '../context/credentials.ts';
import type { StoredCredential } from '../context/credentials.ts';
import { usage } from '../program/exit.ts';

type Call = Pick<Invocation<never>, 'session' | 'settings' | 'io'>;

export interface Place {
  readonly name: string;
  readonly environment: Environment;
  readonly baseUrl: string;
}
export interface Target {
  /** NAME. */
  readonly base: string;
  /** As it was given. */
  readonly baseUrl: string;
  readonly environment: Environment;
  /** One for each environment whose address is known. */
  readonly places: readonly Place[];
}

/** Errors: exit 2. `fallback`: the name where neither -C nor what is there already gives one. */
export function targetOf(call: Call, fallback?: string): Target {
  const { settings, io, session } = call;
  const { contexts } = readUserConfig(io.env);
  const baseUrl = addressOf(call);
  const { origin, host } = new URL(baseUrl);
  const asked =
    settings.context ?? (settings.baseUrl === undefined ? (fallback ?? session.context()?.name) : undefined);
  const name = asked ?? fallback ?? signedInAt(contexts, origin) ?? host.replace(/[^A-Za-z0-9.-]+/g, '-');
  const base = pairOf(checkName(name)).production;
  const environment = environmentAt(baseUrl) ?? settings.environment?.value ?? 'production';
  const places = environments.flatMap((each): Place[] => {
    const address = each === environment ? baseUrl : addressIn(baseUrl, each);
    return address === undefined ? [] : [{ name: pairOf(base)[each], environment: each, baseUrl: address }];
  });
  if (settings.baseUrl !== undefined) {
    const there = settings.context === undefined ? undefined : contexts[settings.context];
    session.use(there === undefined ? null : { name, context: there });
  }
  return { base, baseUrl, environment, places };
}

function addressOf({ session, settings }: Call): string {
  const chosen = settings.baseUrl === undefined ? session.context() : undefined;
  if (chosen === undefined || chosen?.context.kind === 'service') return session.baseUrl().value;
  const what =
    chosen === null ? 'there is no context' : `context ${chosen.name} is a data plane, which has keys`;
  throw usage(`nothing says where to sign in: ${what}`, 'give --base-url https://…');
}

/** NAME of contexts by which a person signed in there before. */
function signedInAt(contexts: Readonly<Record<string, Context>>, origin: string): string | undefined {
  const found = Object.entries(contexts).find(
    ([, each]) =>
      each.kind === 'service' &&
      each.credential?.startsWith('person@') === true &&
      new URL(each.baseUrl).origin === origin,
  );
  return found === undefined ? undefined : pairOf(found[0]).production;
}

/**
 * Errors: exit 2 where one of these names is taken by a context of something else, or by a credential of another kind
 * than may be replaced, which might be kept nowhere else.
 */
export function checkFree(
  places: readonly Place[],
  replaceable: StoredCredential['kind'] | 'none',
  { io }: Pick<Call, 'io'>,
): void {
  const { contexts } = readUserConfig(io.env);
  const credentials = readCredentials(io.env);
  for (const { name, baseUrl } of places) {
    const there = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
    if (there === undefined) continue;
    const hint = 'give the contexts another name: -C NAME';
    if (there.kind === 'plane') throw usage(`context ${name} is a data plane`, hint);
    if (new URL(there.baseUrl).origin !== new URL(baseUrl).origin)
      throw usage(`context ${name} is for ${there.baseUrl}`, hint);
    const kind = there.credential === undefined ? undefined : credentials[there.credential]?.kind;
    if (kind !== undefined && kind !== replaceable)
      throw usage(
        `context ${name} has a stored ${kind === 'person' ? 'sign-in' : 'API key'} already`,
        `${hint}, or remove it first: gov auth logout -C ${name}`,
      );
  }
}
