import { describe, expect, it } from 'vitest';
import { proxyFor, proxyName } from '../../src/client/proxy.ts';

const proxied = (url: string, noProxy: string): boolean =>
  proxyFor(new URL(url), {
    HTTPS_PROXY: 'http://proxy:3128',
    HTTP_PROXY: 'http://proxy:3128',
    NO_PROXY: noProxy,
  }) !== undefined;

describe('the choice of a proxy', () => {
  it('the proxy variable follows the URL scheme, in either case, and a missing scheme is added', () => {
    const url = new URL('https://api.example.test');
    expect(proxyFor(url, {})).toBeUndefined();
    expect(proxyFor(url, { HTTP_PROXY: 'http://proxy:1' })).toBeUndefined();
    expect(proxyFor(url, { HTTPS_PROXY: 'http://proxy:1' })).toBe('http://proxy:1');
    expect(proxyFor(url, { https_proxy: 'proxy:2', HTTPS_PROXY: 'http://proxy:1' })).toBe('http://proxy:2');
  });

  it('a SOCKS proxy is refused with the proxy form that is expected', () => {
    const env = { https_proxy: 'socks5://proxy:1080' };
    expect(() => proxyFor(new URL('https://api.example.test'), env)).toThrow(/expected a proxy such as/);
  });

  it('HTTP_PROXY in capitals is ignored inside CGI', () => {
    const env = { HTTP_PROXY: 'http://evil:1', REQUEST_METHOD: 'GET' };
    expect(proxyFor(new URL('http://api.example.test'), env)).toBeUndefined();
  });

  it('a loopback address never goes through a proxy', () => {
    for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]', 'gov.localhost']) {
      expect(proxied(`http://${host}:7460`, '')).toBe(false);
    }
  });

  it.each([
    ['https://api.example.test', '*', false],
    ['https://api.example.test', 'example.test', false],
    ['https://api.example.test', '.example.test', false],
    ['https://api.example.test', '*.example.test', false],
    ['https://example.test', '.example.test', false],
    ['https://badexample.test', 'example.test', true],
    ['https://api.example.test', 'API.EXAMPLE.TEST', false],
    ['https://api.example.test:8443', 'api.example.test:8443', false],
    ['https://api.example.test', 'api.example.test:8443', true],
    ['https://api.example.test', 'api.example.test:443', false],
    ['https://10.2.3.4', '10.0.0.0/8', false],
    ['https://11.2.3.4', '10.0.0.0/8', true],
    ['http://10.2.3.4', 'a.test, 10.2.3.4', false],
    ['https://[fd00::1]', 'fd00::/8', false],
    ['https://[fd00::1]', 'fd00::1', false],
    ['https://10.2.3.4', '10.0.0.0/99', true],
    ['https://api.example.test', '', true],
  ])('the URL %s with NO_PROXY=%s goes through the proxy: %s', (url, noProxy, through) => {
    expect(proxied(url, noProxy)).toBe(through);
  });

  it('a proxy is named without its credentials', () => {
    expect(proxyName('http://user:secret@proxy:3128')).toBe('http://proxy:3128');
  });
});
