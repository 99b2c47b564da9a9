/**
 * The address of a sign-in, and the names of its contexts: NAME for production, NAME-sandbox for the sandbox. All checks
 * run before anybody has to sign in. Tested by `test/cli/auth/commands.test.ts`.
 */
import type { Environment } from '../../contract/auth-words.ts';
import { environments } from '../../contract/auth-words.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Invocation } from '../context/command.ts';
import { readUserConfig } from '../context/config.ts';
import { addressIn, checkName, environmentAt, pairOf } from '../context/definition.ts';
import type { Context } from '../context/definition.ts';
import { readCredentials } from '../context/credentials.ts';
import type { StoredCredential } from '../context/credentials.ts';
import { usage } from '../program/exit.ts';

type Call = Pick<Invocation<never>, 'session' | 'settings' | 'io'>;

export interface TargetContext {
  readonly name: string;
  readonly environment: Environment;
  readonly baseUrl: string;
}
export interface Target {
  /** NAME. */
  readonly base: string;
  /** The address as the user gave it. */
  readonly baseUrl: string;
  readonly environment: Environment;
  /** One for each environment with a known address. */
  readonly places: readonly TargetContext[];
}

/** Errors: exit 2. `fallback`: the name if neither -C nor an existing context gives one. */
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
  const places = environments.flatMap((each): TargetContext[] => {
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
  throw usage(`expected the address of a service to sign in to: ${what}`, 'give --base-url https://…');
}

/** Returns the NAME of contexts with an earlier sign-in of a person at this service. */
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
 * Errors: exit 2 if a context of another service or plane has one of these names, or if a context has a credential of
 * another kind. That credential may exist nowhere else.
 */
export function checkFree(
  places: readonly TargetContext[],
  replaceable: StoredCredential['kind'] | 'none',
  { io }: Pick<Call, 'io'>,
): void {
  const { contexts } = readUserConfig(io.env);
  const credentials = readCredentials(io.env);
  for (const { name, baseUrl } of places) {
    const there = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
    if (there === undefined) continue;
    const hint = 'choose another name for the contexts: -C NAME';
    if (there.kind === 'plane') throw usage(`context ${name} is a data plane`, hint);
    if (new URL(there.baseUrl).origin !== new URL(baseUrl).origin)
      throw usage(`context ${name} is for ${there.baseUrl}`, hint);
    const kind = there.credential === undefined ? undefined : credentials[there.credential]?.kind;
    if (kind !== undefined && kind !== replaceable)
      throw usage(
        `context ${name} has a stored ${kind === 'person' ? 'sign-in' : 'API key'} already`,
        `${hint}, or remove it first: gov auth logout -C ${shellWord(name)}`,
      );
  }
}
