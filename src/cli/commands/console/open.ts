/** `gov console open`. Tested by `test/cli/commands/console/open.test.ts`. */
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { GovApiError } from '../../../client/errors.ts';
import { readSecret } from '../../context/config.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { consoleOpen as spec } from '../../specs/operate/console.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { flags, io, out, session } = call;
  const place = `${await namedHost(session.baseUrl().value.replace(/\/(?:sandbox\/)?api\/v1\/?$/, ''))}/console/`;
  const link = (await signsPeopleIn(call)) ? null : await createLink(call);
  if (link === null && flags.key !== undefined) {
    throw usage('--key: people sign in to a service at its identity provider, not with a key');
  }
  // a fragment: browsers send it to no server, so no log has it
  const url = link === null ? place : `${place}#code=${link.code}`;
  const expiresAt = link?.expiresAt ?? null;
  if (out.isHuman && !flags.print) {
    const { openPage } = await import('../../terminal/browser.ts');
    const why = await openPage(url, io.env);
    const next = link === null ? `at ${place}; sign in there` : 'in the browser';
    if (why === null) return out.note(safe`opened the console ${next}`);
    await out.note(safe`no browser opened: ${why}; open this address in one:`);
  }
  if (!out.isHuman && out.format !== 'tsv')
    return out.one({ url, expiresAt }, plainView(['url', 'expiresAt']));
  // alone on its line, for copying
  await out.line(Safe.cell(url));
  await out.note(expiresAt === null ? safe`sign in there` : safe`the link works once, until ${expiresAt}`);
};

/** Whether people sign in there. A plane has no such operation, and a service without a provider signs nobody in. */
async function signsPeopleIn({ session }: Call): Promise<boolean> {
  try {
    await (await session.clientAt(session.baseUrl().value, {})).getAuthConfiguration();
    return true;
  } catch (error) {
    if (error instanceof GovApiError && error.status === 404) return false;
    throw error;
  }
}

async function createLink({ flags, io, session }: Call): Promise<{ code: string; expiresAt: string }> {
  const client =
    flags.key === undefined
      ? await session.client()
      : await session.clientAt(session.baseUrl().value, { token: readSecret(resolve(io.cwd, flags.key)) });
  return (await client.createConsoleLink()).body;
}

/**
 * Passkeys need a name, so 127.0.0.1 becomes localhost. Not where another program listens at the same port of ::1: a
 * browser may ask that one, which then has the code.
 */
async function namedHost(base: string): Promise<string> {
  const { protocol, hostname, port } = new URL(base);
  if (protocol !== 'http:' || hostname !== '127.0.0.1' || (await listens('::1', Number(port || 80))))
    return base;
  return base.replace('//127.0.0.1', '//localhost');
}

const listens = (host: string, port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect({ host, port, timeout: 500 });
    const end = (found: boolean) => (): void => {
      socket.destroy();
      done(found);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(true));
  });
