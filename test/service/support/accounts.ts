/** Accounts in tests: how a browser shows its session, and what the log of an organization tells of people. */
import type { Answer } from '../../support/serving.ts';
import type { Tenant } from '../../support/hosted.ts';

const sameOrigin = { 'sec-fetch-site': 'same-origin' };
/** Contract B14 to the letter. */
const cookiePattern = /^__Host-gov_session=([\w-]{43}); Path=\/; Secure; HttpOnly; SameSite=Strict$/;

/** The token in the one cookie that an answer sets. */
export function sessionOf({ headers }: Answer): string {
  const [cookie = '', ...others] = headers['set-cookie'] ?? [];
  const token = cookiePattern.exec(cookie)?.[1];
  if (token === undefined || others.length > 0) throw new Error(`no session cookie: ${cookie}`);
  return token;
}

/** As a page of the service itself sends it. */
export const withCookie = (token: string) => ({
  headers: { cookie: `__Host-gov_session=${token}`, ...sameOrigin },
});

export interface SystemEvent {
  readonly eventType: string;
  readonly actor: { readonly id: string; readonly type: string };
  readonly resource: { readonly id: string; readonly type: string };
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What the service told the log of a project. */
export const eventsOf = async (
  tenant: Tenant,
  environment: 'production' | 'sandbox' = 'production',
): Promise<SystemEvent[]> =>
  (await tenant.call('GET', '/events?runId=gov.system&limit=1000', { environment })).body
    .events as SystemEvent[];
