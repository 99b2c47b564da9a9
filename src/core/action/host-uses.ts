/**
 * The hosts that a command reaches: of URLs in its words, and of the arguments of network programs. An option that reads hosts from
 * elsewhere makes a host that nobody knows. Proven by `test/core/action/host-uses.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { ActionCommand, ActionFacts } from './shape.ts';
import { hostOf } from './host.ts';

/** Options of a network program. */
interface NetworkOptions {
  /** Letters and names of options with a value that is no host. */
  readonly valued: string;
  readonly longValued: readonly string[];
  /** Whose value is a host. */
  readonly hosts: readonly string[];
  /** That read hosts from elsewhere, or change where a name leads. */
  readonly opens: readonly string[];
  /** Only the first operand is a host. */
  readonly takesOne: boolean;
}
const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
const options = (
  valued: string,
  longValued: string,
  { hosts = '', opens = '', takesOne = true }: { hosts?: string; opens?: string; takesOne?: boolean },
): NetworkOptions => ({
  valued,
  longValued: words(longValued),
  hosts: words(hosts),
  opens: words(opens),
  takesOne,
});

const networkOptions: ReadonlyMap<string, NetworkOptions> = new Map([
  [
    'curl',
    options(
      'AbcdDeEFHmoPQrtTuUwXyYzC',
      'data data-raw data-binary data-urlencode header output user request max-time connect-timeout form upload-file cookie cookie-jar user-agent referer cert key cacert retry retry-delay write-out range json noproxy limit-rate max-redirs output-dir',
      {
        hosts: 'url x proxy preproxy socks5 socks5-hostname socks4 socks4a doh-url',
        opens: 'K config resolve connect-to unix-socket abstract-unix-socket interface dns-servers',
        takesOne: false,
      },
    ),
  ],
  [
    'wget',
    options(
      'oaOPtTwQUBDIAR',
      'output-document output-file directory-prefix tries timeout header user-agent user password post-data post-file body-data body-file method wait level',
      { opens: 'i input-file e execute config', takesOne: false },
    ),
  ],
  ['ssh', options('bcDEeIiLlmOpQRSw', '', { hosts: 'J', opens: 'F o W' })],
  ['sftp', options('bciPlRSsB', '', { hosts: 'J', opens: 'F o' })],
  ['nc', options('pwsiqITVm', '', { hosts: 'x', opens: 'U' })],
  ['netcat', options('pwsiqITVm', '', { hosts: 'x', opens: 'U' })],
  ['ncat', options('pwsiqITVm', '', { hosts: 'proxy', opens: 'U' })],
  ['telnet', options('ln', '', {})],
]);
/** Their operands are hosts. */
const plainPrograms = new Set(
  words(
    'http https httpie xh aria2c socat ftp mosh ping ping6 dig nslookup host openssl lynx w3m links websocat grpcurl traceroute nmap whois',
  ),
);
const url = /(?:https?|wss?|ftps?|ssh|git|sftp|rsync):\/\/[^\s'"<>]+/gi;
const device = /\/dev\/(?:tcp|udp)\/([^/]+)\//;

/** Returns the hosts of a command; null for one that nobody knows. Cost: linear in its words. */
export function hostsOf(command: ActionCommand, facts: ActionFacts): (string | null)[] {
  const { program, args, operands, redirects } = command;
  const found: (string | null)[] = [];
  for (const text of [...args, ...redirects.map(({ target }) => target)]) {
    if (text === null) continue;
    for (const [each] of text.matchAll(url)) found.push(each.includes('*') ? null : hostOf(each));
    const [, host] = device.exec(text) ?? [];
    if (host !== undefined) found.push(hostOf(host));
  }
  if (program === 'git') return [...found, ...gitHosts(command, { facts, hasUrl: found.length > 0 })];
  if (program === 'scp' || program === 'rsync') return [...found, ...copyHosts(command)];
  const known = networkOptions.get(program);
  if (known !== undefined) return [...found, ...networkHosts(args, known)];
  if (!plainPrograms.has(program) || (program === 'openssl' && !operands.includes('s_client'))) return found;
  return [...found, ...plainHosts(command)];
}

/** Verbs of git that reach a remote. */
const remoteVerbs = /^(?:push|pull|fetch|clone|ls-remote|remote|submodule|send-pack|fetch-pack|archive)$/;
const moves = /^(?:url\..*insteadof|.*\.proxy|core\.(?:gitproxy|sshcommand)|remote\..*url)/i;

function gitHosts(
  { args, operands, verb }: ActionCommand,
  { facts, hasUrl }: { readonly facts: ActionFacts; readonly hasUrl: boolean },
): (string | null)[] {
  const found: (string | null)[] = args.some((arg) => arg !== null && moves.test(arg)) ? [null] : [];
  if (verb === null) return [...found, null];
  if (!remoteVerbs.test(verb)) return found;
  const given = operands.slice(operands.indexOf(verb) + 1);
  for (const operand of given) {
    const [, host] =
      /^(?:[\w.-]+@)?([\w.-]+\.[\w.-]+|localhost|\[[^\]]+\]):(?!\/\/)/.exec(operand ?? '') ?? [];
    if (host !== undefined) found.push(hostOf(host));
  }
  if (found.length > 0 || hasUrl || !/^(?:push|pull|fetch|ls-remote)$/.test(verb)) return found;
  return [remoteHost(given[0], facts)];
}

/** The host of a remote by its name; without a name, of the only remote. */
function remoteHost(name: string | null | undefined, { remotes }: ActionFacts): string | null {
  if (remotes === undefined || name === null) return null;
  const names = Object.keys(remotes);
  const key = name ?? (names.length === 1 ? names[0] : undefined);
  const host = key !== undefined && Object.hasOwn(remotes, key) ? remotes[key] : undefined;
  return typeof host === 'string' ? hostOf(host) : null;
}

function copyHosts({ args, operands }: ActionCommand): (string | null)[] {
  const found: (string | null)[] = [];
  for (const operand of operands) {
    if (operand === null) found.push(null);
    const [, host] = /^(?:[\w.-]+@)?([\w.-]+|\[[^\]]+\]):/.exec(operand ?? '') ?? [];
    if (host !== undefined) found.push(hostOf(host));
  }
  if (args.some((arg) => arg !== null && /^-(?:o|J|e|S|F)/.test(arg))) found.push(null);
  return found;
}

const withoutUser = (text: string): string => text.replace(/^[^@/]*@/, '');

function plainHosts({ args, operands }: ActionCommand): (string | null)[] {
  const found: (string | null)[] = [];
  const transport = /^(?:TCP|TCP4|TCP6|OPENSSL|SSL|UDP|PROXY|SOCKS\w*)(?:-\w+)?:/i;
  const first = operands.findIndex((operand) => operand !== '-' && operand?.startsWith('@') !== true);
  for (const [at, operand] of operands.entries()) {
    if (operand === null) found.push(null);
    else if (transport.test(operand)) found.push(hostOf(operand.replace(/^[\w-]+:/, '').split(':')[0] ?? ''));
    else if (at === first && !/^[a-z]+:\/\//i.test(operand)) found.push(hostOf(withoutUser(operand)));
  }
  for (const arg of args) if (arg?.startsWith('@') === true) found.push(hostOf(arg.slice(1)));
  return found;
}

/** Each operand is a host or a URL; each option is one that the table has. */
function networkHosts(args: readonly (string | null)[], known: NetworkOptions): (string | null)[] {
  const found: (string | null)[] = [];
  const hostIn = (text: string | null | undefined): void => {
    found.push(text === null || text === undefined ? null : hostOf(withoutUser(text)));
  };
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (arg === null || arg === undefined) found.push(null);
    else if (arg.startsWith('--') && arg !== '--') {
      const [name = '', value] = arg.slice(2).split(/=(.*)/s, 2);
      if (known.hosts.includes(name)) hostIn(value ?? args[(at += 1)]);
      else if (known.opens.includes(name)) found.push(null);
      else if (value === undefined && known.longValued.includes(name)) at += 1;
    } else if (arg.startsWith('-') && arg.length > 1 && arg !== '--') {
      const letter = arg
        .slice(1)
        .split('')
        .findIndex((each) => takesValue(each, known));
      const name = arg[letter + 1] ?? '';
      if (letter < 0) continue;
      const rest = arg.slice(letter + 2);
      const value = rest === '' ? args[(at += 1)] : rest;
      if (known.hosts.includes(name)) hostIn(value);
      else if (known.opens.includes(name)) found.push(null);
    } else if (arg !== '--') {
      if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(arg)) hostIn(arg); // of a URL: above
      if (known.takesOne) return found;
    }
  }
  return found;
}

const takesValue = (letter: string, { valued, hosts, opens }: NetworkOptions): boolean =>
  valued.includes(letter) || hosts.includes(letter) || opens.includes(letter);

/** Names of this machine are one endpoint. */
const isLoopback = (host: string): boolean =>
  /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|0\.0\.0\.0|::1?)$/.test(host);

/** Returns `host:port`, loopback hosts as 127.0.0.1; null if the text has no port, or no host. */
export function endpointOf(text: string, scheme = ''): string | null {
  const [authority = ''] = text.split(/[/?#]/, 1);
  const port = /:(\d{1,5})$/.exec(authority)?.[1] ?? defaultPorts[scheme.toLowerCase()];
  const host = port === undefined ? null : hostOf(authority);
  return host === null ? null : `${isLoopback(host) ? '127.0.0.1' : host}:${Number(port)}`;
}
const defaultPorts: Readonly<Record<string, string | undefined>> = {
  http: '80',
  ws: '80',
  https: '443',
  wss: '443',
};

/** Returns the endpoints in the words of a command. Programs with host and port in two words are read, too. */
export function endpointsOf({ program, args, operands }: ActionCommand): (string | null)[] {
  const found: (string | null)[] = [];
  const add = (text: string, scheme?: string): void => {
    const endpoint = endpointOf(text, scheme);
    if (endpoint !== null) found.push(endpoint);
    else if (text.includes('*')) found.push(null);
  };
  const reaches = networkOptions.has(program) || plainPrograms.has(program);
  for (const arg of args) {
    if (arg === null && reaches) found.push(null);
    if (arg === null || arg.length > limits.actionPathChars) continue;
    for (const [, scheme = '', place = ''] of arg.matchAll(/(https?|wss?):\/\/([^\s'"<>]+)/gi))
      add(place, scheme);
    const [, host, port] = /\/dev\/(?:tcp|udp)\/([^/]+)\/(\d{1,5})/.exec(arg) ?? [];
    if (host !== undefined && port !== undefined) add(`${host}:${port}`);
    for (const piece of arg.split(/[\s,;=@'"()<>|&]+|\/\//))
      if (/^[^/]*:\d{1,5}(?:[/?#]|$)/.test(piece)) add(piece);
  }
  // they find or end what listens at a port of this machine
  if (/^(?:fuser|lsof|kill-port)$/.test(program))
    for (const arg of args) {
      const [, port] = /^(?:\S*:)?(\d{1,5})(?:\/(?:tcp|udp))?$/.exec(arg ?? '') ?? [];
      if (port !== undefined) add(`127.0.0.1:${port}`);
    }
  if (/^(?:nc|ncat|netcat|telnet)$/.test(program)) {
    const [host, port] = operands.slice(-2);
    if (typeof host === 'string' && typeof port === 'string') add(`${host}:${port}`);
  }
  return found;
}
