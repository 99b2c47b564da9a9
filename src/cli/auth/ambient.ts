/**
 * The ID token of a CI job or a workload, for `gov auth login --ci`. Sources: a file (`GOV_ID_TOKEN_FILE`, as Kubernetes
 * projects one), a variable (`GOV_ID_TOKEN`, as GitLab's `id_tokens` sets one), or a request to GitHub Actions
 * (`ACTIONS_ID_TOKEN_REQUEST_URL`). Tested by `test/cli/auth/id-token.test.ts`.
 */
import { usage } from '../program/exit.ts';
import { readText } from '../program/flags.ts';
import type { Io } from '../terminal/io.ts';
import { checkIdToken } from './id-token-shape.ts';
import type { Web } from '../context/web.ts';

/** `audience`: who the token is for. Errors: exit 2 if no source has a token, or if its text is not a token. */
export async function ambientIdToken(
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
  audience: string,
  web: Web,
): Promise<string> {
  const file = env['GOV_ID_TOKEN_FILE'];
  if (file !== undefined && file !== '')
    return checkIdToken(`GOV_ID_TOKEN_FILE (${file})`, readText(file, cwd));
  const direct = env['GOV_ID_TOKEN'];
  if (direct !== undefined && direct !== '') return checkIdToken('GOV_ID_TOKEN', direct);
  const address = env['ACTIONS_ID_TOKEN_REQUEST_URL'];
  const bearer = env['ACTIONS_ID_TOKEN_REQUEST_TOKEN'];
  if (address !== undefined && bearer !== undefined) return ofGitHub({ address, bearer, audience, web });
  throw usage(
    '--ci: expected a job with an ID token, found no token',
    `GitHub Actions: permissions: id-token: write. GitLab: id_tokens: GOV_ID_TOKEN: aud: ${audience}. Elsewhere: GOV_ID_TOKEN_FILE`,
  );
}

interface TokenRequest {
  readonly address: string;
  readonly bearer: string;
  readonly audience: string;
  readonly web: Web;
}

/** https://docs.github.com/actions/concepts/security/openid-connect */
async function ofGitHub({ address, bearer, audience, web }: TokenRequest): Promise<string> {
  if (!URL.canParse(address))
    throw usage('ACTIONS_ID_TOKEN_REQUEST_URL: expected an address, got other text');
  const url = new URL(address);
  url.searchParams.set('audience', audience);
  const headers = { authorization: `Bearer ${bearer}`, accept: 'application/json' };
  const answered = await web.fetch(url.href, { headers });
  const body: unknown = await answered.json().catch(() => undefined);
  const value = typeof body === 'object' && body !== null && 'value' in body ? body.value : undefined;
  if (answered.status === 200 && typeof value === 'string') return checkIdToken('GitHub Actions', value);
  throw usage(`--ci: expected an ID token of GitHub Actions, got status ${answered.status}`);
}
