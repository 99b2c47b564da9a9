import { describe, expect, it } from 'vitest';
import { GovApiError, isUnknownAuthority, networkError } from '../../src/client/errors.ts';

const coded = (code: string, message = 'raw'): Error => Object.assign(new Error(message), { code });

describe('a network error', () => {
  it.each([
    ['ECONNREFUSED', 'no process listens there', true],
    ['ENOTFOUND', 'the host name does not exist', true],
    ['EAI_AGAIN', 'the host name could not be resolved', true],
    ['ECONNRESET', 'the connection closed before a response came', true],
    ['EHOSTUNREACH', 'there is no route to it', true],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'no authority that this machine trusts has signed its certificate', false],
    ['CERT_HAS_EXPIRED', 'its certificate has expired', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another host name', false],
    ['EPROTO', 'does not speak TLS', false],
  ])('a network error with code %s explains "%s"', (code, sentence, retryable) => {
    const error = networkError(coded(code), 'https://gov.example.test');
    expect(error).toMatchObject({ code, retryable, cause: { code } });
    expect(error.message).toContain('could not reach https://gov.example.test: ');
    expect(error.message).toContain(sentence);
  });

  it('a network error takes its code from the errors of several addresses', () => {
    const both = new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')], '');
    expect(networkError(both, 'http://x').code).toBe('ECONNREFUSED');
  });

  it('a network error keeps an unknown message and is retryable', () => {
    expect(networkError(coded('EODD', 'odd'), 'http://x')).toMatchObject({
      code: 'EODD',
      message: 'could not reach http://x: odd',
      retryable: true,
    });
    expect(networkError('text', 'http://x').code).toBe('UNKNOWN');
  });

  it('a network error names the proxy that was used', () => {
    const error = networkError(coded('ECONNREFUSED'), 'http://x', 'http://proxy:3128');
    expect(error.message).toContain('through the proxy http://proxy:3128');
    expect(error.hint).toContain('NO_PROXY');
  });

  it('a certificate chain with an unknown authority is distinguished from an expired certificate', () => {
    expect(isUnknownAuthority(coded('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'))).toBe(true);
    expect(isUnknownAuthority(coded('CERT_HAS_EXPIRED'))).toBe(false);
  });
});

describe('a problem', () => {
  it('a problem is read even when its members have unexpected types', () => {
    const odd = {
      title: 7,
      detail: null,
      code: [],
      requestId: {},
      errors: [{ pointer: 1 }, null],
      retryable: 'yes',
    };
    expect(new GovApiError(400, odd, {})).toMatchObject({
      message: 'HTTP status 400',
      code: 'HTTP_400',
      requestId: undefined,
      errors: [],
      retryable: false,
    });
  });
});
