/**
 * Stores the result of a sign-in: the credential, and the contexts that refer to it.
 * Tested by `test/cli/auth/commands.test.ts`.
 */
import { resolve } from 'node:path';
import type { Identity } from '../../contract/auth.ts';
import type { Environment } from '../../contract/auth-words.ts';
import { GovApiError } from '../../client/errors.ts';
import type { Invocation } from '../context/command.ts';
import { updateUserState } from '../context/config-write.ts';
import type { Context, ServiceContext } from '../context/definition.ts';
import type { StoredCredential } from '../context/credentials.ts';
import type { TargetContext } from './target.ts';

type Call = Pick<Invocation<never>, 'session' | 'settings' | 'io'>;

/** A context to store, with its credential. */
export interface NewContext {
  readonly place: TargetContext;
  readonly credential: string;
  /** The project of a person's calls; a key has its own. */
  readonly project?: string;
}

/** Returns the owner of the credential and its project; each is null if the service does not know it. */
export async function identityAt(
  { session }: Call,
  { baseUrl }: TargetContext,
  { token, project }: { token: string; project?: string | undefined },
): Promise<Identity | null> {
  const client = await session.clientAt(baseUrl, { token, project });
  try {
    return (await client.getIdentity()).body;
  } catch (cause) {
    if (cause instanceof GovApiError && (cause.status === 401 || cause.status === 404)) return null;
    throw cause;
  }
}

/** Stores contexts and credential. The current context stays current; without one, the first becomes current. */
export async function keep(
  { io, settings }: Call,
  {
    found,
    credentials,
  }: { found: readonly NewContext[]; credentials: Readonly<Record<string, StoredCredential>> },
): Promise<string> {
  const caFile = settings.cacert === undefined ? {} : { caFile: resolve(io.cwd, settings.cacert) };
  const preferred = preferredOf(found, settings.environment?.value ?? 'sandbox');
  let current = preferred;
  await updateUserState(io.env, (state) => {
    const contexts: Record<string, Context> = { ...state.config.contexts };
    for (const { place, credential, project } of found) {
      const { trustFile, caFile: knownCa } = serviceAt(contexts, place.name);
      contexts[place.name] = {
        kind: 'service',
        baseUrl: place.baseUrl,
        environment: place.environment,
        credential,
        ...(project === undefined ? {} : { project }),
        ...(trustFile === undefined ? {} : { trustFile }),
        ...(knownCa === undefined ? {} : { caFile: knownCa }),
        ...caFile,
      };
    }
    current = state.config.currentContext ?? preferred;
    return {
      config: { currentContext: current, contexts },
      credentials: { ...state.credentials, ...credentials },
    };
  });
  return current;
}

const preferredOf = (found: readonly NewContext[], environment: Environment): string =>
  (found.find(({ place }) => place.environment === environment) ?? found[0])?.place.name ?? '';

export function serviceAt(
  contexts: Readonly<Record<string, Context>>,
  name: string,
): Partial<ServiceContext> {
  const there = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  return there?.kind === 'service' ? there : {};
}
