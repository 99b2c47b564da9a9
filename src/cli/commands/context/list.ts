/** `gov context list`. Never shows a secret. Tested by `test/cli/context/config.test.ts`. */
import type { Run } from '../../context/command.ts';
import { readUserConfig } from '../../context/config.ts';
import { planeFolderAt } from '../../context/folder.ts';
import { environmentOf } from '../../context/definition.ts';
import type { Context } from '../../context/definition.ts';
import { readCredentials } from '../../context/credentials.ts';
import type { Credentials } from '../../context/credentials.ts';
import { safe } from '../../terminal/safe.ts';
import type { contextList as spec } from '../../specs/tool/context.ts';
import type { Kind, View } from '../../terminal/view.ts';

const kinds: Readonly<Record<string, Kind>> = { name: 'id', current: 'flag', project: 'id' };

const names = ['name', 'current', 'kind', 'environment', 'place', 'project', 'credential'];
const columns = names.map((name) => ({ name, kind: kinds[name] ?? ('text' as const) }));
const view: View = { columns, wide: columns, id: 'name', items: undefined };

export const run: Run<typeof spec> = async ({ out, io, settings }) => {
  const { contexts, currentContext } = readUserConfig(io.env);
  const chosen = settings.context ?? planeFolderAt(io.cwd, contexts)?.name ?? currentContext;
  const credentials = readCredentials(io.env);
  const items = Object.entries(contexts).map(([name, context]) => ({
    name,
    current: name === chosen,
    ...described(context, credentials, io.now()),
  }));
  if (items.length === 0)
    await out.note(
      safe`no contexts yet: gov plane init --data DIR makes a data plane, gov auth login signs in to a service`,
    );
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await out.list(pages(), view, 'contexts');
};

function described(context: Context, credentials: Credentials, now: number) {
  if (context.kind === 'plane') {
    const { kind, dataDir: place } = context;
    return { kind, environment: null, place, project: null, credential: 'its own key' };
  }
  const { kind, baseUrl: place, project = null, credential, apiKeyFile } = context;
  const stored = credential === undefined ? undefined : credentials[credential];
  const environment = environmentOf(context) ?? null;
  return { kind, environment, place, project, credential: told(stored, apiKeyFile, now) };
}

function told(stored: Credentials[string] | undefined, apiKeyFile: string | undefined, now: number): string {
  if (stored === undefined) return apiKeyFile === undefined ? 'none' : `file ${apiKeyFile}`;
  const what = stored.kind === 'person' ? 'signed in' : 'API key';
  if (stored.expiresAt === null) return what;
  return Date.parse(stored.expiresAt) <= now
    ? `ended ${stored.expiresAt}`
    : `${what} until ${stored.expiresAt}`;
}
