/**
 * The ID token that a CI job or a workload has of itself, for `gov auth login --ci`: a file (`GOV_ID_TOKEN_FILE`, as
 * Kubernetes projects one), a variable (`GOV_ID_TOKEN`, as GitLab's `id_tokens` sets one), or asked for at GitHub Actions
 * (`ACTIONS_ID_TOKEN_REQUEST_URL`). `test/cli/auth/id-token.test.ts` proves each.
 */
import { usage } from '../program/exit.ts';
import { readText } from '../program/flags.ts';
import type { Io } from '../terminal/io.ts';
import { checkIdToken } from './id-token.ts';
import type { Web } from './web.ts';

/** Errors: exit 2 where this is no such job, or what it has is no token. `audience`: for whom the token is asked. */
export async function ambientIdToken(env: Io['env'], audience: string, web: Web): Promise<string> {
  const file = env['GOV_ID_TOKEN_FILE'];
  if (file !== undefined && file !== '') return checkIdToken(`GOV_ID_TOKEN_FILE (${file})`, readText(file));
  const direct = env['GOV_ID_TOKEN'];
  if (direct !== undefined && direct !== '') return checkIdToken('GOV_ID_TOKEN', direct);
  const address = env['ACTIONS_ID_TOKEN_REQUEST_URL'];
  const bearer = env['ACTIONS_ID_TOKEN_REQUEST_TOKEN'];
  if (address !== undefined && bearer !== undefined) return ofGitHub({ address, bearer, audience, web });
  throw usage(
    '--ci: expected a job that has an ID token, found none',
    `GitHub Actions: permissions: id-token: write. GitLab: id_tokens: GOV_ID_TOKEN: aud: ${audience}. Elsewhere: GOV_ID_TOKEN_FILE`,
  );
}

interface Asked {
  readonly address: string;
  readonly bearer: string;
  readonly audience: string;
  readonly web: Web;
}

/** https://docs.github.com/actions/concepts/security/openid-connect */
async function ofGitHub({ address, bearer, audience, web }: Asked): Promise<string> {
  if (!URL.canParse(address)) throw usage('ACTIONS_ID_TOKEN_REQUEST_URL: expected an address');
  const url = new URL(address);
  url.searchParams.set('audience', audience);
  const headers = { authorization: `Bearer ${bearer}`, accept: 'application/json' };
  const answered = await web.fetch(url.href, { headers });
  const body: unknown = await answered.json().catch(() => undefined);
  const value = typeof body === 'object' && body !== null && 'value' in body ? body.value : undefined;
  if (answered.status === 200 && typeof value === 'string') return checkIdToken('GitHub Actions', value);
  throw usage(`--ci: expected an ID token of GitHub Actions, got status ${answered.status}`);
}
