/**
 * The public API, as this page reaches it: the client library below the base path from which the page came, with the
 * session cookie that the browser adds. Tested by `test/console/shell.test.ts`.
 */
import type { Environment } from '../../contract/auth-words.ts';
import { createClient, type Client } from '../../client/create.ts';
import { changeSignedByPasskey } from './sign-change.ts';

/** The page is at `<base>/console/`, the API beside it. */
const paths = { production: '../api/v1', sandbox: '../sandbox/api/v1' } as const;

/** Needed where the page has to name an address itself, as for a download. No slash at the end. */
export const apiBase = (environment: Environment): string =>
  new URL(paths[environment], document.baseURI).href;

/** `project`: of a person, who may have several; null for a key, which has its own. */
export function clientOf(environment: Environment, project: string | null): Client {
  const client = createClient({
    baseUrl: apiBase(environment),
    project: project ?? undefined,
    retries: 1,
    signChange: (change) => changeSignedByPasskey(client, change),
  });
  return client;
}
