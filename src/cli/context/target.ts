/**
 * Where a command works: the words for its context, and the failure of a command that this place does not have.
 * Tested by `test/cli/context/target.test.ts`.
 */
import { GovApiError } from '../../client/errors.ts';
import { noOperation } from '../../contract/problems.ts';
import { shellWord } from '../../core/shell-word.ts';
import { CliError, exit } from '../program/exit.ts';
import type { Io } from '../terminal/io.ts';
import { readUserConfig } from './config.ts';
import { planeEnvironment } from './place.ts';
import type { NamedContext } from './place.ts';
import type { Session } from './session.ts';

/** `context acme: gov.example.com, project prj_…, production`, or `context local: data plane /var/lib/gov, production`. */
export function targetText(session: Session): string {
  const chosen = session.context();
  const { value: baseUrl, from } = session.baseUrl();
  if (chosen === null || !from.startsWith('context ')) {
    return [`${new URL(baseUrl).host} (${from})`, ...parts(session)].join(', ');
  }
  const { name, context } = chosen;
  const where = context.kind === 'plane' ? `data plane ${context.dataDir}` : new URL(baseUrl).host;
  const environment = context.kind === 'plane' ? planeEnvironment(context) : session.environment();
  return [
    `context ${name}: ${where}`,
    ...parts(session),
    ...(environment === undefined ? [] : [environment]),
  ].join(', ');
}

function parts(session: Session): string[] {
  const project = session.project();
  return project === null ? [] : [`project ${project.value}`];
}

/** Returns the failure unchanged, unless the server lacks the operation: then one that names contexts that have it. */
export function elsewhere(
  thrown: unknown,
  command: string,
  { session, io }: { session: Session; io: Io },
): unknown {
  if (!(thrown instanceof GovApiError) || thrown.status !== 404 || thrown.detail !== noOperation)
    return thrown;
  return notHere(command, { session, io }, thrown);
}

/** Errors: exit 5 for a command of hosted services, if the context is a data plane. */
export function refusePlane(command: string, call: { session: Session; io: Io }): void {
  if (planeOf(call.session) !== null) throw notHere(command, call);
}

function planeOf(session: Session): NamedContext | null {
  const chosen = session.context();
  return chosen?.context.kind === 'plane' && session.baseUrl().from.startsWith('context ') ? chosen : null;
}

function notHere(command: string, { session, io }: { session: Session; io: Io }, cause?: unknown): CliError {
  const plane = planeOf(session);
  const here =
    plane === null
      ? `the server at ${session.baseUrl().value}`
      : `context ${plane.name} is a data plane, which`;
  const wanted = plane === null ? 'plane' : 'service';
  const others = Object.entries(readUserConfig(io.env).contexts)
    .filter(([, { kind }]) => kind === wanted)
    .map(([name]) => name);
  const add =
    wanted === 'service'
      ? 'a hosted service has it; add one: gov auth login --base-url URL, or gov context set NAME --base-url URL'
      : 'a server of another kind or version has it, or the address is wrong: gov context show';
  return new CliError(exit.notFound, `${here} does not have gov ${command}`, {
    code: 'NOT_FOUND',
    hint:
      others.length === 0
        ? add
        : `choose a context that has it: ${others.map((name) => `-C ${shellWord(name)}`).join(', ')}`,
    cause,
  });
}
