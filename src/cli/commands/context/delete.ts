/**
 * `gov context delete NAME`: asks first if this also deletes a credential.
 * Tested by `test/cli/context/config.test.ts`.
 */
import { confirmName } from '../../terminal/ask.ts';
import type { Run } from '../../context/command.ts';
import { readUserConfig } from '../../context/config.ts';
import { updateUserState } from '../../context/config-write.ts';
import type { Context } from '../../context/definition.ts';
import { readCredentials } from '../../context/credentials.ts';
import { unknownContext } from '../../context/place.ts';
import { safe } from '../../terminal/safe.ts';
import type { contextDelete as spec } from '../../specs/tool/context.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, io, out } = call;
  const { name } = args;
  const { contexts } = readUserConfig(io.env);
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context === undefined) throw unknownContext(name, contexts);
  const lost = lastHolder(contexts, name);
  const stored = lost === undefined ? undefined : readCredentials(io.env)[lost];
  if (stored !== undefined) {
    const what = stored.kind === 'person' ? 'the sign-in' : 'the API key';
    await confirmName(
      { fact: `with context ${name} this machine forgets ${what}`, name, given: flags.confirm },
      call,
    );
  }
  await updateUserState(io.env, ({ config, credentials }) => {
    const { [name]: _gone, ...rest } = config.contexts;
    const { currentContext } = config;
    const current = currentContext === undefined || currentContext === name ? {} : { currentContext };
    return { config: { ...current, contexts: rest }, credentials };
  });
  await out.note(safe`removed context ${name}`);
  const { currentContext } = readUserConfig(io.env);
  if (currentContext === undefined) await out.note(safe`no context is current: gov context use NAME`);
};

/** Returns the credential of this context if no other context refers to it. */
function lastHolder(contexts: Readonly<Record<string, Context>>, name: string): string | undefined {
  const credentialOf = (each: Context | undefined): string | undefined =>
    each?.kind === 'service' ? each.credential : undefined;
  const mine = credentialOf(contexts[name]);
  const others = Object.entries(contexts).filter(([other]) => other !== name);
  return others.some(([, each]) => credentialOf(each) === mine) ? undefined : mine;
}
