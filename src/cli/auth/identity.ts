/**
 * Asks the service or plane whose credential a call has, and shows the answer, for `gov auth status` and
 * `gov auth whoami`. Tested by `test/cli/auth/signed-in.test.ts`.
 */
import { shellWord } from '../../core/shell-word.ts';
import { GovApiError } from '../../client/errors.ts';
import { masked } from '../context/credentials.ts';
import type { Invocation } from '../context/command.ts';
import { CliError, exit } from '../program/exit.ts';
import { safe } from '../terminal/safe.ts';
import { plainView } from '../terminal/view.ts';

/** Errors: exit 4 without a credential, or with one that is no longer valid. */
export async function showIdentity({ out, session }: Pick<Invocation, 'out' | 'session'>): Promise<void> {
  const context = session.context();
  const baseUrl = session.baseUrl().value;
  const credential = session.apiKey();
  const where = context === null ? baseUrl : `context ${context.name} (${baseUrl})`;
  const isPlane = context?.context.kind === 'plane';
  const next = isPlane
    ? 'gov context show'
    : `gov auth login${context === null ? ` --base-url ${shellWord(baseUrl)}` : ` -C ${shellWord(context.name)}`}`;
  if (credential === null)
    throw notSignedIn(isPlane ? `no API key: ${where}` : `nobody is signed in: ${where}`, next);
  const client = await session.client();
  const { body } = await client.getIdentity().catch((cause: unknown) => {
    if (cause instanceof GovApiError && cause.status === 401)
      throw notSignedIn(`the credential from ${credential.from} is no longer valid at ${baseUrl}`, next);
    throw cause;
  });
  const shown = {
    context: context?.name ?? null,
    baseUrl,
    credential: masked(credential.value),
    from: credential.from,
  };
  const value = { ...shown, ...body };
  if (!out.isHuman) return out.one(value, plainView(Object.keys(value)));
  const { type, id, name, organizationId, organizationName, projectId, projectName, environment, expiresAt } =
    body;
  const named = (text: string, of: string | null): string => (of === null ? text : `${of} (${text})`);
  const rows: readonly (readonly [string, string])[] = [
    [type === 'person' ? 'person' : 'API key', named(id, name)],
    ['organization', named(organizationId, organizationName)],
    ['project', `${named(projectId, projectName)}, ${environment}`],
    ['may', body.scopes.includes('*') ? 'everything' : body.scopes.join(', ') || 'nothing'],
    ['address', baseUrl],
    ['until', expiresAt ?? 'it is revoked'],
    ['credential', `${shown.credential}, from ${shown.from}`],
  ];
  await out.lines(rows.map(([label, text]) => safe`${out.styles.bold(label.padEnd(12))}  ${text}`));
}

const notSignedIn = (message: string, next: string): CliError =>
  new CliError(exit.denied, message, { code: 'NOT_SIGNED_IN', next: [next] });
