/** `gov agents install [CLIENT]`. Tested by `test/cli/agents/install.test.ts`. */
import { basename, join, resolve } from 'node:path';
import { agentClients, clientTitles } from '../../../core/agents/clients.ts';
import { isObject } from '../../../core/json/object.ts';
import {
  install,
  isChange,
  plannedInstall,
  readInstalled,
  writeInstalled,
  type Change,
} from '../../agents/install.ts';
import type { HookConnection } from '../../agents/connection-file.ts';
import { hookKey } from '../../agents/key.ts';
import { codexHooks, findProgram, isTooOld, type Program } from '../../agents/program.ts';
import { withTrust } from '../../agents/setup/codex.ts';
import {
  nothing,
  plannedEach,
  type HookSettings,
  type OddClient,
  type SandboxLists,
  type Scope,
  type Setup,
} from '../../agents/setup/edit.ts';
import { madePin } from '../../agents/pin.ts';
import { keepConfigs, proxiedServers } from '../../agents/mcp/proxied.ts';
import { nameOdd, showChanges } from '../../agents/show-changes.ts';
import { homeOfSudo, planeOfSudo } from '../../agents/sudo.ts';
import { etc, folderOf, lockedPath, scopeOf, setupsNamed } from '../../agents/target.ts';
import { readObject } from '../../context/config.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import type { Context } from '../../context/definition.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { confirm } from '../../terminal/ask.ts';
import { safe } from '../../terminal/safe.ts';
import { writeWhole } from '../../terminal/output-file.ts';
import type { agentsInstall as spec } from '../../specs/decide/agents.ts';
import { makeFolder } from '../../../files/make-folder.ts';

type Call = Invocation<typeof spec>;

interface ClientChoice {
  readonly setup: Setup;
  readonly program: Program | null;
}

export const run: Run<typeof spec> = async (call) => {
  const { flags, io, out } = call;
  const scope = scopeOf(flags.scope);
  const folder = folderOf(scope, io.env);
  if (scope === 'managed' && !call.session.hasTarget()) call.session.use(planeOfSudo(io.env));
  const chosen = await choose(call);
  const sandbox = await sandboxOf(call, scope);
  const planned = (key: string) => plan(call, { scope, folder, chosen, key, sandbox });
  // reads every file before anything changes
  const preview = planned('KEY');
  if (flags.dryRun) {
    await showChanges(out, preview.changes, { dryRun: true });
    return nameOdd(out, preview.odd);
  }
  const given = flags.keyFile === undefined ? undefined : resolve(io.cwd, flags.keyFile);
  const context = contextOf(call);
  const { session } = call;
  await enrolApprover(call);
  const { key, file, keyId, isOperators } = await hookKey({ session, context, scope, folder, given });
  const pin = await madePin(session, { key, context });
  writeConnection(call, { folder, scope, keyFile: file, pin });
  if (keyId !== null) writeInstalled(folder, { ...readInstalled(folder), keyId });
  const { changes, odd } = planned(key);
  install(changes, folder, key);
  const name = session.context()?.name;
  keepConfigs({ env: io.env, etc, scope, folder, context: name, cwd: io.cwd });
  const done = chosen.filter(({ setup }) => !odd.some(({ client }) => client === setup.client));
  const more = await trustCodex(call, { scope, folder, chosen: done, sandbox });
  await showChanges(out, merged([...changes, ...(more ?? [])]), { dryRun: false });
  if (more === null)
    await out.warn(
      safe`Codex did not say whether it trusts the hooks, and skips hooks that it does not trust: gov agents doctor codex`,
    );
  for (const { setup } of done.filter(({ setup }) => setup.tested === null))
    await out.warn(safe`${clientTitles[setup.client]}: written as its documentation says, and not tested`);
  if (scope === 'user')
    await out.warn(
      safe`a project can turn off hooks of a user: run it as root, with --scope managed; gov agents doctor says what stays open`,
    );
  if (pin === null && !session.baseUrl().value.startsWith('https:'))
    await out.warn(
      safe`hooks send their key to the program that answers at ${session.baseUrl().value}: the plane is of an older version, or its keys cannot be read`,
    );
  if (isOperators)
    await out.warn(
      safe`hooks use the operator's key (${file}), with which an agent could also change policies: name a narrower one with --key-file`,
    );
  if (scope === 'managed' && done.some(({ setup }) => setup.client === 'claude-code'))
    await out.note(
      safe`Claude Code starts no MCP server now but those behind gov mcp proxy, runs no helper for credentials of a home or a project, and no shell line of a skill`,
    );
  if (scope === 'managed' && context?.kind === 'plane') await keepFromUser(call, context.dataDir);
  await out.note(safe`next: gov agents doctor, then gov agents drill`);
  return nameOdd(out, odd);
};

/** Moves a plane that the user's agent could write to a user of its own, after a question. */
async function keepFromUser(call: Call, dataDir: string): Promise<void> {
  const { flags, out, io, signal, session } = call;
  const { isOfUser, moveDirectory, movedTo, prepareMove, startMoved } =
    await import('../../agents/move-plane.ts');
  if (process.getuid?.() !== 0 || !isOfUser(dataDir)) return;
  const to = movedTo(dataDir);
  if (flags.keepPlane || !(out.settings.interactive || out.settings.yes))
    return out.warn(
      safe`the agents of its user can write the files of the plane in ${dataDir}; in a terminal this command moves it to ${to}, after a question`,
    );
  await confirm(
    `this stops the plane in ${dataDir} and moves it to ${to}, to the user gov`,
    '--yes or --keep-plane',
    call,
  );
  const owner = prepareMove(dataDir);
  const { stopPlane } = await import('../../../../plane/serve/stop.ts');
  const { result } = await stopPlane(dataDir, { timeoutMs: 30_000, force: false, signal });
  if (result !== 'stopped' && result !== 'not serving')
    throw new CliError(exit.error, `expected the plane in ${dataDir} to stop, got ${result}`);
  moveDirectory(dataDir, owner);
  const name = session.context()?.name ?? basename(dataDir);
  await updateUserConfig(io.env, (config) => ({
    currentContext: config.currentContext ?? name,
    contexts: { ...config.contexts, [name]: { kind: 'plane', dataDir: to } },
  }));
  const start = startMoved(to);
  await out.note(safe`the plane is in ${to} now, and root has the context ${name}: sudo gov approvals list`);
  if (start !== null)
    await out.warn(safe`the plane is stopped, and there is no systemd that starts it: ${start}`);
}

/** Before an agent asks: asks for the phrase of a plane of this machine that has no approver yet. */
async function enrolApprover(call: Call): Promise<void> {
  const { session, out } = call;
  const { lacksApprover, makeSealedKey, ownDataDir, sealedFile } = await import('../../approvals/sealed.ts');
  const dataDir = ownDataDir(call);
  if (dataDir === null) return;
  const client = await session.client();
  if (!(await lacksApprover(client, dataDir))) return;
  if (!out.settings.interactive)
    return out.warn(
      safe`nobody can approve what agents ask for: run gov approvers seal in a terminal, before an agent asks`,
    );
  const { approver } = await makeSealedKey(client, dataDir);
  await out.note(safe`enrolled ${approver.approverId}; its key is ${sealedFile(dataDir)}`);
}

/** The named client, or those on PATH. Errors: exit 5 for none, exit 2 for one that is too old. */
async function choose({ args, io }: Call): Promise<ClientChoice[]> {
  const all = await Promise.all(
    setupsNamed(args.client).map(async (setup) => ({ setup, program: await findProgram(setup, io.env) })),
  );
  const chosen = args.client === undefined ? all.filter(({ program }) => program !== null) : all;
  if (chosen.length === 0)
    throw new CliError(exit.notFound, 'expected a client on PATH, found none', {
      code: 'NOT_FOUND',
      hint: 'name one, to set it up before it is installed',
      next: ['gov agents install claude-code'],
    });
  for (const { setup, program } of chosen) {
    if (program === null || !isTooOld(program, setup)) continue;
    throw usage(
      `expected ${clientTitles[setup.client]} ${setup.oldest} or newer, got ${program.version} (${program.path}): it lets calls run when a hook fails`,
      'update it, then run the command again',
    );
  }
  return chosen;
}

interface InstallChoice {
  readonly scope: Scope;
  readonly folder: string;
  readonly chosen: readonly ClientChoice[];
  readonly key: string;
  readonly sandbox: SandboxLists | null;
}

/** Asks the policies for the lists. Errors: exit 2 for a scope whose settings a project overrides. */
async function sandboxOf({ flags, session }: Call, scope: Scope): Promise<SandboxLists | null> {
  if (!flags.sandbox) return null;
  if (scope !== 'managed')
    throw usage(
      'expected --sandbox with --scope managed, because a project overrides the settings of a user',
    );
  const { clientLists } = await import('../../sandbox/client-lists.ts');
  return clientLists(await session.client(), new URL(session.baseUrl().value).host);
}

interface Plan {
  readonly changes: readonly Change[];
  readonly odd: readonly OddClient[];
}

/** How long the plane lets a call wait, in seconds. */
function holdOf(call: Call): number {
  const context = contextOf(call);
  const own =
    context?.kind === 'plane' ? readObject(join(context.dataDir, 'plane.json'))?.['hold'] : undefined;
  const seconds = isObject(own) ? own['seconds'] : undefined;
  return call.flags.hold ?? (typeof seconds === 'number' ? seconds : 0);
}

function plan(call: Call, { scope, folder, chosen, key, sandbox }: InstallChoice): Plan {
  const { flags, io, session } = call;
  const origin = new URL(session.baseUrl().value).origin;
  const places = { etc, scope, folder, context: session.context()?.name, cwd: io.cwd };
  const homes = [io.env, ...[homeOfSudo(io.env)].flatMap((home) => (home === null ? [] : [{ HOME: home }]))];
  const wanted: HookSettings = {
    node: process.execPath,
    entry: resolve(process.argv[1] ?? ''),
    config: join(folder, 'agents.json'),
    hold: holdOf(call),
    // a file that every user can read must not have a key
    telemetry: scope === 'managed' || flags.withoutTelemetry ? null : { origin, key },
    lockedPath: flags.lockPath ? lockedPath(io.env) : null,
    wrapped: homes.flatMap((env) =>
      agentClients.flatMap((client) => proxiedServers(client, { ...places, env })),
    ),
    sandbox,
  };
  const installed = readInstalled(folder);
  const { plans, odd } = plannedEach(
    chosen.map(({ setup }) => setup),
    (setup) => plannedInstall(setup.edits({ env: io.env, etc, scope }, wanted), installed),
  );
  const [first] = odd;
  if (plans.length === 0 && first !== undefined) throw first.fault;
  return { changes: plans.flatMap((each) => each.plan), odd };
}

/** An address that the user gave wins over the context. */
const contextOf = ({ session, settings }: Call): Context | undefined =>
  settings.baseUrl === undefined ? session.context()?.context : undefined;

interface ConnectionChoice {
  readonly folder: string;
  readonly scope: Scope;
  readonly keyFile: string;
  readonly pin: Required<NonNullable<HookConnection['pin']>> | null;
}

function writeConnection(call: Call, { folder, scope, keyFile, pin }: ConnectionChoice): void {
  const { session, settings } = call;
  const context = contextOf(call);
  // a plane's directory knows its port, but other users cannot read it
  const isOwnPlane = context?.kind === 'plane' && scope === 'user';
  const caFile = settings.cacert ?? (context?.kind === 'service' ? context.caFile : undefined);
  const connection = {
    ...(isOwnPlane ? { dataDir: context.dataDir } : { baseUrl: session.baseUrl().value }),
    keyFile,
    ...(caFile === undefined ? {} : { caFile }),
    ...pinMembers(pin, isOwnPlane),
  };
  makeFolder(folder);
  writeWhole(join(folder, 'agents.json'), Buffer.from(`${JSON.stringify(connection, null, 2)}\n`), 0o644);
}

/** The directory of a plane has its keys, also after a rotation. */
function pinMembers(pin: ConnectionChoice['pin'], isOwnPlane: boolean): Pick<HookConnection, 'pin'> {
  if (pin === null) return {};
  const { planeKeys: _keys, ...key } = pin;
  return { pin: isOwnPlane ? key : pin };
}

/**
 * Makes Codex trust the hooks that this command installs. Codex itself computes the hash of a trusted hook. Null if it
 * does not answer twice: its first start may be slow.
 */
async function trustCodex(
  { io }: Call,
  { scope, folder, chosen }: Omit<InstallChoice, 'key'>,
): Promise<Change[] | null> {
  const { setup, program = null } = chosen.find((each) => each.setup.client === 'codex') ?? {};
  const [edit] = setup?.edits({ env: io.env, etc, scope }, nothing) ?? [];
  if (edit === undefined || program === null || scope === 'managed') return [];
  const hooks = (await codexHooks(program.path, io)) ?? (await codexHooks(program.path, io));
  if (hooks === null) return null;
  const untrusted = hooks.filter(({ runs }) => !runs);
  if (untrusted.length === 0) return [];
  const trusted = Object.fromEntries(
    untrusted.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]),
  );
  const [change] = plannedInstall(
    [{ ...edit, add: (_, now) => withTrust(edit.path, now ?? '', trusted) }],
    readInstalled(folder),
  );
  if (change === undefined || !isChange(change)) return [];
  install([change], folder, null);
  return [change];
}

/** The changes of each file as one. */
const merged = (changes: readonly Change[]): Change[] => {
  const byPath = new Map<string, Change>();
  for (const change of changes)
    byPath.set(change.path, { ...change, before: (byPath.get(change.path) ?? change).before });
  return [...byPath.values()];
};
