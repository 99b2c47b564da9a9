/** The hosts of the remotes in a git configuration file. Proven by `test/core/action/git-remotes.test.ts`. */
import { limits } from '../../contract/limits.ts';
import { hostOf } from './host.ts';

/**
 * Returns the host of each remote by its name; null for one without a host, or with several. Null where the file rewrites URLs or
 * includes others, so that nobody can say it from the file alone.
 */
export function remoteHosts(config: string): Readonly<Record<string, string | null>> | null {
  if (/^\s*\[(?:url|include|includeif)\b/im.test(config) || /^\s*insteadof/im.test(config)) return null;
  const hosts = new Map<string, string | null>();
  let remote: string | null = null;
  for (const line of config.split('\n')) {
    const [, section] = /^\s*\[([^\]]*)\]/.exec(line) ?? [];
    if (section !== undefined) remote = /^remote "([^"\\]+)"$/.exec(section)?.[1] ?? null;
    const [, url] = /^\s*(?:push)?url\s*=\s*(.*?)\s*$/i.exec(line) ?? [];
    if (remote === null || url === undefined) continue;
    const host = remoteHost(url);
    hosts.set(remote, hosts.has(remote) && hosts.get(remote) !== host ? null : host);
  }
  return hosts.size > limits.factRemotes ? null : Object.fromEntries(hosts);
}

/** The host of `https://host/path` or `user@host:path`. */
function remoteHost(url: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return hostOf(url);
  const [, host] = /^(?:[\w.-]+@)?([\w.-]+|\[[^\]]+\]):/.exec(url) ?? [];
  return host === undefined ? null : hostOf(host);
}
