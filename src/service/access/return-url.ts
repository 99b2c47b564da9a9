/**
 * Where the payment provider's portal may lead back to (contract I6; CWE-601): https, a host that is configured, and a
 * text that every reader of URLs (WHATWG, RFC 3986) takes for the same. Proven by `test/service/access/billing.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { GovError } from '../../contract/problems.ts';
import { fieldError } from '../call/schema.ts';

/** Printable ASCII without what some readers of URLs take for `/`, drop, or end a host at. */
const plainText = /^[!#-;=?-[\]_a-z~]+$/;

export interface ReturnRules {
  /** As they stand in a URL: `app.example.com`, or `app.example.com:8443`. `localhost` stands for all of its ports. */
  readonly hosts: readonly string[];
  /** Whether http://localhost will do. */
  readonly sandbox: boolean;
}

/** The URL in its normal form. VALIDATION_ERROR. The text is an attacker's. */
export function checkedReturnUrl(text: string, { hosts, sandbox }: ReturnRules): string {
  const url = plainText.test(text) ? URL.parse(text) : null;
  if (url === null || !/^https?:\/\/[^/]/i.test(text)) {
    throw refused('BAD_FORMAT', 'expected an absolute URL, such as https://app.example.com/billing');
  }
  const isLocal = sandbox && url.protocol === 'http:' && url.hostname === 'localhost';
  if (url.protocol !== 'https:' && !isLocal) {
    const but = sandbox ? ', or http://localhost' : '';
    throw refused('NOT_ALLOWED', `expected a URL that begins with https://${but}`);
  }
  if (/^[^:]+:\/\/[^/?#]*@/.test(text)) {
    throw refused('NOT_ALLOWED', 'expected a URL without a user name or password before its host');
  }
  const { host } = isLocal ? new URL(`https://${url.hostname}`) : url;
  if (!hosts.some((each) => URL.parse(`https://${each}`)?.host === host)) {
    const known = hosts.slice(0, limits.fieldErrors).join(', ');
    throw refused(
      'NOT_ALLOWED',
      `expected a URL of a host that the operator allows (${known || 'none is set'})`,
    );
  }
  return url.href;
}

const refused = (code: string, detail: string): GovError =>
  fieldError({ pointer: '/returnUrl', in: 'body', code, detail });
