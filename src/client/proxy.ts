/**
 * The proxy of a URL, from HTTP_PROXY, HTTPS_PROXY and NO_PROXY in upper or lower case. Node's own matcher ignores CIDR
 * ranges for node:http, and `NODE_USE_ENV_PROXY` ends the process on a proxy without a scheme. Therefore this file reads
 * both. Tested by `test/client/proxy.test.ts` with the forms that curl and Go accept.
 */
import { BlockList, isIP } from 'node:net';
import { GovNetworkError } from './errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const read = (env: Environment, name: string): string => (env[name.toLowerCase()] ?? env[name] ?? '').trim();

/** Returns the host without the brackets of an IPv6 literal. */
const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '').toLowerCase();

function inRange(host: string, range: string): boolean {
  const [network = '', prefix = ''] = range.split('/');
  const family = isIP(network);
  if (family === 0 || family !== isIP(host) || !/^[0-9]{1,3}$/.test(prefix)) return false;
  if (Number(prefix) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), type);
  return list.check(host, type);
}

function matches(host: string, port: string, entry: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return inRange(host, entry);
  const [, name = entry, entryPort] = /^(.*?):([0-9]+)$/.exec(isIP(bare(entry)) === 6 ? '' : entry) ?? [];
  if (entryPort !== undefined && entryPort !== port) return false;
  const wanted = bare(name).replace(/^\*?\./, '');
  return host === wanted || (isIP(host) === 0 && host.endsWith(`.${wanted}`));
}

/** Returns whether a host, without brackets, is this machine by its name. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '::1' || inRange(host, '127.0.0.0/8');

/** Returns the proxy's URL, or undefined for a direct connection. Loopback is always direct. */
export function proxyFor(url: URL, env: Environment): string | undefined {
  const secure = url.protocol === 'https:';
  // inside CGI, HTTP_PROXY in capitals may come from a request header (CVE-2016-5385)
  const cgi = env['REQUEST_METHOD'] !== undefined;
  const given = secure ? read(env, 'HTTPS_PROXY') : cgi ? (env['http_proxy'] ?? '') : read(env, 'HTTP_PROXY');
  const host = bare(url.hostname);
  if (given === '' || isLoopback(host)) return undefined;
  const port = url.port === '' ? (secure ? '443' : '80') : url.port;
  const direct = read(env, 'NO_PROXY')
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  if (direct.some((entry) => matches(host, port, entry))) return undefined;
  return withScheme(given);
}

function withScheme(given: string): string {
  const text = given.includes('://') ? given : `http://${given}`;
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new GovNetworkError(
      'UNSUPPORTED_PROXY',
      'expected a proxy such as http://host:3128 in HTTPS_PROXY or HTTP_PROXY',
      {
        hint: 'SOCKS proxies do not work; use an HTTP proxy, or add the host to NO_PROXY',
      },
    );
  }
  return text;
}

/** Returns the proxy without its credentials, for messages. */
export function proxyName(proxy: string): string {
  const url = new URL(proxy);
  return `${url.protocol}//${url.host}`;
}
