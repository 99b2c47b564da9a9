/** Signing in from a browser, as the page of the console does it, at a provider that answers what a test wants. */
import type { ServiceProcess, TestService } from '../../support/hosted.ts';
import type { Answer } from '../../support/answer.ts';

/** As a page of the service sends it. */
export const pageOf = ({ port }: ServiceProcess, cookies: readonly string[] = []) => ({
  origin: `http://localhost:${port}`,
  'sec-fetch-site': 'same-origin',
  ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }),
});

export interface Begun {
  readonly url: URL;
  readonly state: string;
  readonly nonce: string;
  /** `name=value` of the cookie. */
  readonly cookie: string;
}

export async function begin(service: ServiceProcess): Promise<Begun> {
  const { status, body, headers, text } = await service.call('POST', '/auth/sign-in', {
    headers: pageOf(service),
  });
  if (status !== 200) throw new Error(text);
  const url = new URL(body.authorizationUrl);
  const [cookie = ''] = (headers['set-cookie'] ?? [''])[0]!.split(';');
  const of = (name: string): string => url.searchParams.get(name) ?? '';
  return { url, state: of('state'), nonce: of('nonce'), cookie };
}

export const finish = (
  service: ServiceProcess,
  { cookie, state }: Pick<Begun, 'cookie' | 'state'>,
  more: Record<string, string> = {},
  cookies: readonly string[] = [],
): Promise<Answer> =>
  service.call('POST', '/auth/sign-in/finish', {
    headers: pageOf(service, [cookie, ...cookies]),
    body: { state, ...more },
  });

export const codeOf = ({ status, body }: Answer): [number, string] => [status, body.code];

export type TokenAnswer = [body: object, status?: number, headers?: Record<string, string>];

/** The token endpoint answers this, once it is asked. */
export const tokensOf = ({ issuer }: TestService, ...[body, status = 200, headers = {}]: TokenAnswer): void =>
  void issuer.answers.set('/token', (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)),
  );
export const idTokenOf = (service: TestService, idToken: string): void =>
  tokensOf(service, { access_token: 'a', token_type: 'bearer', id_token: idToken });
