/**
 * `gov run --sandbox`: bwrap holds closed what the policies refuse, a proxy asks about each host, and `gov-watch` records each program.
 * Linux alone. Without all three, nothing starts. Tested by `test/cli/sandbox/run.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Client } from '../../client/create.ts';
import { paginate } from '../../client/paginate.ts';
import { isLoopback } from '../../client/proxy.ts';
import type { EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { readJson } from '../../core/json/parse.ts';
import { parseCondition } from '../../core/policies/language/parse.ts';
import { readPaths } from '../../core/policies/language/read-set.ts';
import { workspaceOf } from '../agents/facts.ts';
import type { Invocation } from '../context/command.ts';
import { configPath, homeOf } from '../context/config.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { programPath } from '../program/relay.ts';
import { clientFolders } from './client-folders.ts';
import { pathLists, Policies } from './decide.ts';
import { mountsOf } from './mounts.ts';
import {
  emptyFolder,
  homesOf,
  othersRun,
  ownMounts,
  sandboxFolder,
  socketAt,
  usuallyWritable,
} from './own-files.ts';
import { servePort, serveProxy, type Decide, type Gateway, type Target } from './proxy.ts';
import { KernelRecords } from './records.ts';
import { readStarted, watchProgram } from './watch.ts';

const realOr = (path: string): string => (existsSync(path) ? realpathSync(path) : path);

type Call = Pick<Invocation, 'io' | 'session' | 'out'>;

interface Need {
  /** How bwrap and gov-watch say that it is missing. */
  readonly missing: RegExp;
  readonly expected: string;
  readonly hint: string;
}

const namespaces: Need = {
  missing: /namespace|uid map/i,
  expected: 'bwrap to make user, process and network namespaces',
  hint: 'allow them to this user: sysctl user.max_user_namespaces above 0, on Debian kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap; in a container of Docker --security-opt seccomp=unconfined',
};

const needs: readonly Need[] = [
  {
    missing: /^gov-watch: this system allows no seccomp filter/,
    expected: 'Linux 5.5 or newer that allows gov-watch a seccomp filter',
    hint: 'start gov outside of any other sandbox; in a container of Docker give --security-opt seccomp=unconfined',
  },
  {
    missing: /mount proc/,
    expected: 'bwrap to mount /proc',
    hint: 'start gov outside of any other sandbox; in a container of Docker give --security-opt systempaths=unconfined',
  },
  namespaces,
];

export interface Engine {
  readonly bwrap: string;
  readonly watch: string;
  readonly version: string;
}

/** Returns what sandboxes are made with. Errors: exit 126 where this machine cannot make one, with what to do. */
export function requireEngine({ io }: Pick<Call, 'io'>): Engine {
  const refuse = (message: string, hint: string): CliError =>
    new CliError(exit.notStarted, `no sandbox, so the program did not start: ${message}`, {
      code: 'NO_SANDBOX',
      hint,
    });
  const watch = watchProgram();
  if (watch === null)
    throw refuse(
      `expected Linux on x86-64 or arm64, got ${process.platform} ${process.arch}`,
      'leave out --sandbox, or use the sandbox of the client: gov agents install --scope managed --sandbox',
    );
  const bwrap = programPath('bwrap', io);
  if (bwrap === null)
    throw refuse('expected bwrap on PATH, found none', 'apt install bubblewrap, or dnf install bubblewrap');
  const mounts = [
    '--unshare-pid',
    '--unshare-net',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
  ];
  const tried = spawnSync(watch, ['1', '--', bwrap, ...mounts, '/bin/true'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (tried.status !== 0) {
    const got = tried.stderr?.trim() || `exit code ${tried.status ?? tried.error?.message}`;
    const { expected, hint } = needs.find(({ missing }) => missing.test(got)) ?? namespaces;
    throw refuse(`expected ${expected}, got: ${got}`, hint);
  }
  return { bwrap, watch, version: spawnSync(bwrap, ['--version'], { encoding: 'utf8' }).stdout.trim() };
}

export interface SandboxOptions {
  readonly engine: Engine;
  readonly runId: string;
  readonly actor: NonNullable<EventInput['actor']>;
  readonly client: Client;
  /** Of the program, with the variables of its run. */
  readonly env: NodeJS.ProcessEnv;
  /** Folders that the user named. */
  readonly writable: readonly string[];
  /** Ports of this machine's loopback. */
  readonly ports: readonly number[];
}

export interface Sandbox {
  /** Starts a program in the sandbox. */
  words(command: readonly string[]): string[];
  readonly env: NodeJS.ProcessEnv;
  report(written: Readable): void;
  /** Ends it. Throws where a record failed. */
  end(): Promise<void>;
}

/** Where the sandbox listens on its own loopback. */
const firstPort = 3128;
const mostPorts = 2;

/** Makes a sandbox, and records its lists. Errors: exit 2 for folders and ports that it cannot have. */
export async function openSandbox(call: Call, options: SandboxOptions): Promise<Sandbox> {
  const { io, session } = call;
  const { client, runId, actor } = options;
  const plane = targetOf(session.baseUrl().value);
  const ports = portsOf(plane, options.ports);
  const home = realOr(homeOf(io.env));
  const workspace = realpathSync(workspaceOf(io.cwd) ?? io.cwd);
  const facts = {
    cwd: realpathSync(io.cwd),
    home,
    workspace,
    plane: `${plane.host}:${plane.port}`,
    sandbox: null,
  };
  const policies = new Policies(client, { runId, actor, facts });
  const records = new KernelRecords(client, policies, { runId, actor, now: io.now });
  const writable = usuallyWritable({ env: io.env, workspace, home }, options.writable);
  const lists = await pathLists(policies, { workspace, home, homes: homesOf(home), writable });
  const config = dirname(configPath(io.env));
  const folder = sandboxFolder(config);
  const clients = clientFolders(folder, { env: io.env, home });
  const proxyPort = isLoopback(plane.host) ? null : ports.proxy;
  const startedIn = { runId, at: new Date(io.now()).toISOString() };
  const own = ownMounts(io.env, { config, folder, proxyPort, startedIn, moved: clients.moved });
  const mounts = mountsOf(lists, own);
  const gates: Gateway[] = [];
  const close = (): void => {
    for (const gate of gates) gate.close();
    if (!othersRun(config, folder)) mounts.undo();
    clients.removeCopies();
    emptyFolder(folder, { keeps: Object.keys(clients.kept).length > 0 });
  };
  try {
    const decide = (target: Target) => records.connect(target);
    const sockets = await openGates({ folder, plane, ports, decide, gates });
    await records.record('sandbox.started', 'start', {
      engine: options.engine.version,
      denyRead: lists.denyRead,
      denyWrite: lists.denyWrite.map(({ path }) => path),
      allowWrite: lists.allowWrite,
      hidden: own.hidden.filter((path) => existsSync(path)),
      clientFolders: clients.kept,
      ports: ports.carried,
      ...(lists.isCut ? { workspaceNotRead: `more than ${limits.sandboxEntries} entries` } : {}),
      notEnforced: await notEnforced(client),
    });
    const words = wordsOf(options, { sockets, mounts: mounts.words, cwd: facts.cwd });
    const env = { ...options.env, ...clients.env, ...proxyVariables(ports.proxy) };
    return running({ records, close, words, env, cwd: io.cwd });
  } catch (cause) {
    close();
    throw cause;
  }
}

interface Ports {
  /** Of the proxy, on the loopback of the sandbox. */
  readonly proxy: number;
  /** Of this machine. */
  readonly carried: readonly number[];
}

function portsOf(plane: Target, named: readonly number[]): Ports {
  if (named.length > mostPorts) throw usage(`expected at most ${mostPorts} ports, got ${named.length}`);
  const carried = [...new Set([...named, ...(isLoopback(plane.host) ? [plane.port] : [])])];
  return { proxy: firstPort + [0, 1, 2, 3].findIndex((at) => !carried.includes(firstPort + at)), carried };
}

/** Serves the proxy and each port. Returns them as `PORT=SOCKET`. */
async function openGates({
  folder,
  plane,
  ports,
  decide,
  gates,
}: {
  readonly folder: string;
  readonly plane: Target;
  readonly ports: Ports;
  readonly decide: Decide;
  readonly gates: Gateway[];
}): Promise<string[]> {
  const sockets = [`${ports.proxy}=${socketAt(folder, 0)}`];
  gates.push(await serveProxy(socketAt(folder, 0), { decide, own: plane }));
  for (const [index, port] of ports.carried.entries()) {
    const path = socketAt(folder, index + 1);
    const isPlane = port === plane.port && isLoopback(plane.host);
    gates.push(await servePort(path, { port, decide: isPlane ? null : decide }));
    sockets.push(`${port}=${path}`);
  }
  return sockets;
}

/** The words that start a program in the sandbox, up to the program. */
function wordsOf(
  { engine: { watch, bwrap } }: Pick<SandboxOptions, 'engine'>,
  {
    sockets,
    mounts,
    cwd,
  }: { readonly sockets: readonly string[]; readonly mounts: readonly string[]; readonly cwd: string },
): string[] {
  const ports = sockets.map((each) => each.slice(0, each.indexOf('=')));
  const outside = [watch, '3', ...sockets, '--', bwrap, ...mounts, '--chdir', cwd];
  return [...outside, '--', watch, '--inside', ...ports, '--'];
}

function running({
  records,
  close,
  words,
  env,
  cwd,
}: {
  readonly records: KernelRecords;
  readonly close: () => void;
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}): Sandbox {
  let read: Promise<void> = Promise.resolve();
  return {
    words: ([program = '', ...args]) => [...words, programPath(program, { cwd, env }) ?? program, ...args],
    env,
    report: (written) => {
      read = readAll(written, records);
      read.catch(() => {}); // `end` throws it
    },
    async end() {
      try {
        await read;
        await records.end();
      } finally {
        close();
      }
    },
  };
}

async function readAll(written: Readable, records: KernelRecords): Promise<void> {
  for await (const line of createInterface({ input: written })) records.started(readStarted(line));
}

/** Programs that know no proxy reach nothing. The loopback of the sandbox is its own. */
function proxyVariables(port: number): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
  return {
    ...Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, proxy])),
    NO_PROXY: 'localhost,127.0.0.1,::1',
    no_proxy: 'localhost,127.0.0.1,::1',
    NODE_USE_ENV_PROXY: '1',
  };
}

function targetOf(baseUrl: string): Target {
  const { hostname, port, protocol } = new URL(baseUrl);
  return { host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

/** Members of an action that the lists and the proxy decide. */
const enforced = /^context\.action(?:\?|\.(?:paths|hosts|endpoints|plane|kind|engine)\b|$)/;

/** The policies in force with what they read beyond one path and one host. The kernel does not know it. */
async function notEnforced(client: Client): Promise<{ policyId: string; reads: string[] }[]> {
  const found: { policyId: string; reads: string[] }[] = [];
  for await (const { id, active } of paginate(client.listPolicies, {
    query: { status: 'active' as const, limit: 100 },
  })) {
    if (active === null) continue;
    const node = parseCondition(readJson(JSON.stringify(active.condition)));
    const reads = readPaths(node).filter((path) => !enforced.test(path));
    if (reads.length > 0) found.push({ policyId: id, reads });
  }
  return found;
}
