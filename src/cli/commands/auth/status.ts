/** `gov auth status`: asks the service, so that what it says is so. */
import { GovApiError } from '../../../client/errors.ts';
import type { Run } from '../../program/command.ts';
import { masked } from '../../context/credentials.ts';
import { CliError, exit } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { authStatus as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ out, session }) => {
  const context = session.context();
  if (context?.context.kind === 'plane')
    throw new CliError(exit.usage, `context ${context.name} is a data plane, where nobody signs in`, {
      hint: 'its keys are in its directory: gov context show',
      next: ['gov auth login --base-url https://…'],
    });
  const baseUrl = session.baseUrl().value;
  const credential = session.apiKey();
  const where = context === null ? baseUrl : `context ${context.name} (${baseUrl})`;
  const next = `gov auth login${context === null ? ` --base-url ${baseUrl}` : ` -C ${context.name}`}`;
  if (credential === null) throw notSignedIn(`nobody is signed in: ${where}`, next);
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
  const rows: readonly (readonly [string, string])[] = [
    [type === 'person' ? 'person' : 'API key', name === null ? id : `${name} (${id})`],
    ['organization', organizationName === null ? organizationId : `${organizationName} (${organizationId})`],
    ['project', `${projectName === null ? projectId : `${projectName} (${projectId})`}, ${environment}`],
    ['address', baseUrl],
    ['until', expiresAt ?? 'it is revoked'],
    ['credential', `${shown.credential}, from ${shown.from}`],
  ];
  await out.lines(rows.map(([label, text]) => safe`${out.styles.bold(label.padEnd(12))}  ${text}`));
};

const notSignedIn = (message: string, next: string): CliError =>
  new CliError(exit.denied, message, { code: 'NOT_SIGNED_IN', next: [next] });
