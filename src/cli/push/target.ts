/** The name of the service that a push goes to. Tested by `test/cli/push/command.test.ts`. */
import type { Invocation } from '../context/command.ts';

/** A plane is known by its directory, because its address may change; a service by its address. */
export function targetOf({ session, settings }: Pick<Invocation, 'session' | 'settings'>): string {
  const context = settings.baseUrl === undefined ? session.context()?.context : undefined;
  return context?.kind === 'plane' ? `the data plane in ${context.dataDir}` : session.baseUrl().value;
}
