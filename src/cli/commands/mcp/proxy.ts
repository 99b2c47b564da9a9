/**
 * `gov mcp proxy -- COMMAND…` and `gov mcp proxy --url URL`.
 * Tested by `test/cli/commands/mcp/stdio.test.ts` and `test/cli/commands/mcp/http.test.ts`.
 */
import { once } from 'node:events';
import { limits } from '../../../contract/limits.ts';
import { pinOfHooks } from '../../agents/pin.ts';
import { Gate } from '../../mcp/gate.ts';
import { Pins } from '../../mcp/pins.ts';
import { serverNameAt, serverNameOf } from '../../mcp/server-name.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { withoutCredentials } from '../../start/environment.ts';
import { safe } from '../../terminal/safe.ts';
import type { mcpProxy as spec } from '../../specs/decide/mcp.ts';

type ProxyCall = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (invocation) => {
  const { args, flags, io, out, session } = invocation;
  const url = flags.url === undefined ? undefined : urlOf(flags.url);
  if ((url === undefined) === (args.command.length === 0))
    throw usage('expected either the command of a server after --, or --url');
  if (url === undefined && flags.listen !== undefined) throw usage('--listen: needs --url');
  const server = flags.name ?? (url === undefined ? serverNameOf(args.command) : serverNameAt(url));
  const client = await session.client({
    retries: limits.mcpDecisionRetries,
    timeoutMs: limits.mcpDecisionSeconds * 1000,
    keepsReceipts: true,
    pin: pinOfHooks(io.env),
  });
  let warnings = 0;
  const warn = (text: string): void => {
    warnings++;
    if (warnings < limits.mcpWarnings) void out.warn(safe`${text.slice(0, 1000)}`);
    else if (warnings === limits.mcpWarnings) void out.warn(safe`further warnings are not printed`);
  };
  const pins = new Pins(client, server);
  const gate = new Gate({
    client,
    pins,
    server,
    warn,
    content: flags.content ?? 'hashes',
    runId: flags.run,
    session: io.env['CLAUDE_CODE_SESSION_ID'],
    actor: flags.actor,
    policyIds: flags.policy,
  });
  const relaying = { gate, pins, warn };
  return url === undefined ? serveStdio(invocation, relaying) : serveHttp(invocation, { ...relaying, url });
};

interface RelayOptions {
  readonly gate: Gate;
  readonly pins: Pins;
  readonly warn: (text: string) => void;
}

async function serveStdio({ args, io, out }: ProxyCall, relaying: RelayOptions): Promise<number> {
  const { relayStdio } = await import('../../mcp/stdio.ts');
  const [command = ''] = args.command;
  try {
    return await relayStdio({
      ...relaying,
      command: args.command,
      cwd: io.cwd,
      // the server must not be able to act with the key of the proxy
      env: withoutCredentials(io.env),
      stdin: io.stdin,
      write: (bytes) => out.raw(bytes),
    });
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    const code = 'code' in cause ? String(cause.code) : '';
    const why = code === 'ENOENT' ? 'the command does not exist' : code;
    await out.fail(new CliError(exit.error, `cannot start ${command}: ${why}`, { code, cause }), out.isJson);
    return code === 'ENOENT' ? exit.notInstalled : exit.notStarted;
  }
}

async function serveHttp(
  { flags, out, session }: ProxyCall,
  { url, ...relaying }: RelayOptions & { readonly url: URL },
): Promise<number> {
  const { McpHttpProxy } = await import('../../mcp/http.ts');
  const { ca } = session.webOptions();
  const proxy = new McpHttpProxy({
    ...relaying,
    url,
    ...addressOf(flags.listen ?? '127.0.0.1:0'),
    ca: ca ?? [],
  });
  const stopped = Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name)));
  await out.line(safe`${await proxy.listen()}`);
  await stopped;
  const unrecorded = await proxy.close();
  if (unrecorded > 0) relaying.warn(`${unrecorded} calls ended without a record of their outcome`);
  return exit.ok;
}

function urlOf(text: string): URL {
  if (URL.canParse(text) && /^https?:\/\//i.test(text)) return new URL(text);
  throw usage(`--url: expected an address such as http://127.0.0.1:3001/mcp, got ${JSON.stringify(text)}`);
}

/** Only this machine may connect: clients have no credential for the proxy. */
function addressOf(text: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] =
    /^(127(?:\.[0-9]{1,3}){3}|localhost|\[::1\]):([0-9]{1,5})$/.exec(text) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw usage(`--listen: expected a loopback address such as 127.0.0.1:7480, got ${JSON.stringify(text)}`);
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
