/** Creates what a process sends out with. Loads the modules for HTTPS with the first message. */
import { limits } from '../../contract/limits.ts';
import type { Outbound } from '../../service/hosting/outbound.ts';
import type { OutboundConfig } from './config.ts';
import type { PostContext } from './post.ts';
import { refusalOf } from './target.ts';

export interface OutboundOptions extends OutboundConfig {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly version: string;
  /** Name servers, `address` or `address:port`. Absent: those of the system. */
  readonly nameServers?: readonly string[];
}

export function openOutbound(options: OutboundOptions): Outbound {
  let ready: Promise<Pick<Outbound, 'post'>> | undefined;
  const refusal = (url: string): string | null => refusalOf(url, options.allowed);
  return { refusal, post: async (message) => (await (ready ??= load(options))).post(message) };
}

async function load({
  allowed,
  authorities,
  now,
  version,
  nameServers,
}: OutboundOptions): Promise<Pick<Outbound, 'post'>> {
  const [{ post }, { Resolver }, { Agent }, { createSecureContext, getCACertificates }] = await Promise.all([
    import('./post.ts'),
    import('node:dns/promises'),
    import('node:https'),
    import('node:tls'),
  ]);
  const resolver = new Resolver({ timeout: 3000, tries: 2 });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  const ca = authorities === null ? {} : { ca: [...getCACertificates('default'), authorities] };
  // parses a hundred certificates, so once
  const secureContext = createSecureContext({ ...ca, minVersion: 'TLSv1.2' });
  // a kept connection goes to an address that was checked when it opened
  const agent = new Agent({
    keepAlive: true,
    timeout: limits.outboundIdleMs,
    maxFreeSockets: limits.outboundIdleSockets,
    maxCachedSessions: 0,
    secureContext,
  });
  const sending: PostContext = { allowed, resolver, now, agent, userAgent: `gov/${version}` };
  return { post: (message) => post(message, sending) };
}
