/**
 * Checks the URL to which the payment provider's portal returns (contract I6; CWE-601): https, a configured
 * host, and a text that every URL parser (WHATWG, RFC 3986) reads the same way. Proven by
 * `test/service/billing/portal.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import { limits } from '../../contract/limits.ts';
import type { GovError } from '../../contract/problems.ts';
import { fieldError } from '../call/schema.ts';

/**
 * Printable ASCII without characters that some URL parsers read as `/`, drop, or treat as the end of a host.
 */
const plainText = /^[!#-;=?-[\]_a-z~]+$/;

interface ReturnRules {
  /**
   * Hosts as they occur in a URL: `app.example.com`, or `app.example.com:8443`. `localhost` allows all of its
   * ports.
   */
  readonly hosts: readonly string[];
  /** Whether http://localhost is allowed. */
  readonly sandbox: boolean;
}

/** The URL in normal form. VALIDATION_ERROR. An attacker controls the text. */
export function checkedReturnUrl(text: string, { hosts, sandbox }: ReturnRules): string {
  const url = plainText.test(text) ? URL.parse(text) : null;
  if (url === null || !/^https?:\/\/[^/]/i.test(text)) {
    throw refused('BAD_FORMAT', 'expected an absolute URL, such as https://app.example.com/billing');
  }
  const isLocal = sandbox && url.protocol === 'http:' && url.hostname === 'localhost';
  if (url.protocol !== 'https:' && !isLocal) {
    const but = sandbox ? ', or http://localhost' : '';
    throw refused('NOT_ALLOWED', `expected a URL that starts with https://${but}`);
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

const refused = (code: FieldCode, detail: string): GovError =>
  fieldError({ pointer: '/returnUrl', in: 'body', code, detail });
