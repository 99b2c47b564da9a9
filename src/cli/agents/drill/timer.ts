/**
 * The timer of this machine that runs `gov agents drill`: a user timer of systemd, else a launch agent of macOS, else a line
 * of cron. It belongs to the user of the agent, whose client, settings and trust it tests.
 * Tested by `test/cli/agents/timer.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import { homeOf, xdgFolder, type Variables } from '../../context/config.ts';
import { CliError, exit } from '../../program/exit.ts';
import { writeWhole } from '../../terminal/output-file.ts';
import { textAt, type Change } from '../install.ts';
import { isProgram } from '../program.ts';
import { cronLines, plist, systemdUnits, type DrillTimer } from './timer-text.ts';

type Kind = 'systemd' | 'launchd' | 'cron';

/** The name of the table in messages; it is no file. */
const crontab = 'crontab';

/** Variables that a drill needs and that are no secrets. */
const kept =
  'PATH HOME GOV_CONFIG_DIR XDG_CONFIG_HOME CODEX_HOME CLAUDE_CONFIG_DIR GEMINI_CLI_HOME GOV_BASE_URL GOV_API_KEY_FILE GOV_CONTEXT'.split(
    ' ',
  );

interface TimerOptions {
  readonly everyMs: number;
  /** After the program: `agents drill …`. */
  readonly words: readonly string[];
  readonly env: Variables;
}

const scheduledOf = ({ everyMs, words, env }: TimerOptions): DrillTimer => ({
  everyMs,
  words: [process.execPath, process.argv[1] ?? '', ...words],
  variables: Object.fromEntries(kept.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
  machine: hostname(),
});

/** The files or the table, as they are and as they should be. Errors: exit 1 where this machine has no timers. */
export function plannedTimer(options: TimerOptions): Change[] {
  const { env } = options;
  const kind = kindOf(env);
  if (kind === null)
    throw new CliError(exit.error, 'expected systemd with a user session, launchd or cron, found none', {
      code: 'NO_TIMER',
      hint: 'install cron, or let another scheduler run gov agents drill',
    });
  const scheduled = scheduledOf(options);
  const texts = kind === 'cron' ? null : filesOf(kind, env, scheduled);
  if (texts === null) {
    const before = tableOf(env);
    return [{ path: crontab, before, after: cronLines(before ?? '', scheduled), original: null }];
  }
  return Object.entries(texts).map(([path, after]) => ({
    path,
    before: textAt(path),
    after,
    original: null,
  }));
}

/** What removing it changes. Finds a timer of any kind, also one that this machine would not choose today. */
export function plannedRemoval(env: Variables): Change[] {
  const paths = [...systemdPaths(env), plistPath(env)].filter((path) => existsSync(path));
  const table = tableOf(env);
  const left = table === null ? null : cronLines(table, null);
  return [
    ...paths.map((path) => ({ path, before: textAt(path), after: null, original: null })),
    ...(left === table ? [] : [{ path: crontab, before: table, after: left, original: null }]),
  ];
}

/** Writes what was planned, and starts the timer. Errors: exit 1 with what the scheduler said. */
export function installTimer(changes: readonly Change[], env: Variables): void {
  const { units, agent } = partsOf(changes);
  if (agent !== undefined) tell(env, ['launchctl', 'bootout', domain(), agent], { isOptional: true });
  write(changes, env);
  if (units) tell(env, ['systemctl', '--user', 'daemon-reload']);
  if (units) tell(env, ['systemctl', '--user', 'enable', '--now', 'gov-drill.timer']);
  if (agent !== undefined) tell(env, ['launchctl', 'bootstrap', domain(), agent]);
}

/** Stops the timer, then removes it. A scheduler that is away has nothing to stop. */
export function removeTimer(changes: readonly Change[], env: Variables): void {
  const { units, agent } = partsOf(changes);
  const isOptional = true;
  if (units) tell(env, ['systemctl', '--user', 'disable', '--now', 'gov-drill.timer'], { isOptional });
  if (agent !== undefined) tell(env, ['launchctl', 'bootout', domain(), agent], { isOptional });
  write(changes, env);
  if (units) tell(env, ['systemctl', '--user', 'daemon-reload'], { isOptional });
}

const domain = (): string => `gui/${process.getuid?.() ?? 0}`;

function partsOf(changes: readonly Change[]): {
  readonly units: boolean;
  readonly agent: string | undefined;
} {
  const paths = changes.map(({ path }) => path);
  return {
    units: paths.some((path) => path.endsWith('.timer')),
    agent: paths.find((path) => path.endsWith('.plist')),
  };
}

function write(changes: readonly Change[], env: Variables): void {
  for (const { path, after } of changes) {
    if (path === crontab) {
      const text = after ?? '';
      tell(env, ['crontab', text === '' ? '-r' : '-'], { input: text });
    } else if (after === null) rmSync(path, { force: true });
    else {
      makeFolder(dirname(path));
      writeWhole(path, Buffer.from(after), 0o644);
    }
  }
}

/** Whether a timer of this user runs drills. */
export const hasTimer = (env: Variables): boolean => plannedRemoval(env).length > 0;

function kindOf(env: Variables): Kind | null {
  if (process.platform === 'darwin') return 'launchd';
  const session = env['XDG_RUNTIME_DIR'] ?? `/run/user/${process.getuid?.() ?? 0}`;
  if (find('systemctl', env) !== null && existsSync(join(session, 'systemd'))) return 'systemd';
  return find('crontab', env) === null ? null : 'cron';
}

function systemdPaths(env: Variables): readonly [service: string, timer: string] {
  const folder = join(xdgFolder(env, 'XDG_CONFIG_HOME'), 'systemd/user');
  return [join(folder, 'gov-drill.service'), join(folder, 'gov-drill.timer')];
}

const plistPath = (env: Variables): string => join(homeOf(env), 'Library/LaunchAgents/gov.drill.plist');

function filesOf(
  kind: 'systemd' | 'launchd',
  env: Variables,
  scheduled: DrillTimer,
): Readonly<Record<string, string>> {
  if (kind === 'launchd') return { [plistPath(env)]: plist(scheduled) };
  const [service, timer] = systemdPaths(env);
  const units = systemdUnits(scheduled);
  return { [service]: units.service, [timer]: units.timer };
}

const find = (name: string, env: Variables): string | null =>
  (env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isProgram) ?? null;

/** The table of cron of this user; null without cron. An empty one also ends with an error. */
function tableOf(env: Variables): string | null {
  const program = find('crontab', env);
  if (program === null) return null;
  const { stdout, status } = spawnSync(program, ['-l'], { env: { ...env }, encoding: 'utf8' });
  return status === 0 ? stdout : '';
}

function tell(
  env: Variables,
  [name = '', ...words]: readonly string[],
  { isOptional = false, input = '' }: { readonly isOptional?: boolean; readonly input?: string } = {},
): void {
  const program = find(name, env) ?? name;
  const { status, stderr, error } = spawnSync(program, words, { env: { ...env }, encoding: 'utf8', input });
  if (status === 0 || isOptional) return;
  const why = error?.message ?? (stderr.trim() || `exit code ${status}`);
  throw new CliError(exit.error, `${name} ${words.join(' ')}: ${why}`, { code: 'NO_TIMER' });
}
