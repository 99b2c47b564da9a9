/** `gov agents drill [CLIENT]`. Tested by `test/cli/agents/drill.test.ts`. */
import type { Client } from '../../../client/create.ts';
import { bypassType } from '../../../core/agents/bypasses.ts';
import { drillRun } from '../../../core/agents/drills.ts';
import { quotedWord, shellWord } from '../../../core/shell-word.ts';
import { installedAt } from '../../agents/doctor.ts';
import { obstacle, tryBypass, type Tried } from '../../agents/drill/bypass-judge.ts';
import { bypasses } from '../../agents/drill/bypasses/all.ts';
import { drill, type DrillResult } from '../../agents/drill/judge.ts';
import { ensureAskingPolicy, ensurePolicy } from '../../agents/drill/policy.ts';
import { drillable } from '../../agents/drill/start.ts';
import { installTimer, plannedTimer } from '../../agents/drill/timer.ts';
import { findProgram, type Program } from '../../agents/program.ts';
import type { Setup } from '../../agents/setup/edit.ts';
import { showChanges } from '../../agents/show-changes.ts';
import { etc, setupsNamed } from '../../agents/target.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { keyFile } from '../../context/place.ts';
import { startProgress } from '../../progress/show.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { agentsDrill as spec } from '../../specs/decide/agents.ts';

const columns = textColumns(['client', 'version', 'result', 'stopped', 'recorded', 'durationMs', 'reason']);

export const run: Run<typeof spec> = async (call) => {
  const { io, out, session, flags } = call;
  if (flags.every !== undefined) return schedule(call, flags.every);
  if (flags.dryRun) throw usage('--dry-run: needs --every, because a drill cannot be tried');
  const chosen = await choose(call);
  const plane = await session.client();
  await ensurePolicy(plane);
  const results: DrillResult[] = [];
  // one after the other: two clients at once would share the machine, and its time limit
  for (const { setup, program } of chosen)
    results.push(await drill(setup.client, program, { plane, env: io.env }));
  const ok = results.every(({ passed }) => passed);
  if (flags.bypasses) return bypassReport(call, { chosen, plane, drills: results });
  out.verdict = ok ? exit.ok : exit.checkFailed;
  const said = (value: boolean): string => (value ? 'yes' : 'no');
  await printReport(out, {
    whole: { ok, drills: results },
    columns,
    rows: results.map((result) => ({
      ...result,
      version: result.version ?? '-',
      result: result.passed ? 'passed' : 'failed',
      stopped: said(result.stopped),
      recorded: said(result.recorded),
    })),
    foot: [out.styles.dim(safe`results: gov events list --run ${shellWord(drillRun)}`)],
  });
  return out.verdict;
};

interface Chosen {
  readonly setup: Setup;
  readonly program: Program;
}

interface ToTry {
  readonly chosen: readonly Chosen[];
  readonly plane: Client;
  readonly drills: readonly DrillResult[];
}

/** Tries the known ways around the hooks of each client whose drill passed. */
async function bypassReport(
  call: Invocation<typeof spec>,
  { chosen, plane, drills }: ToTry,
): Promise<number> {
  const { io, out, session, signal } = call;
  await ensureAskingPolicy(plane);
  const context = session.context()?.context;
  const keyFileHere = io.env['GOV_API_KEY_FILE'] ?? (context === undefined ? undefined : keyFile(context));
  const gov = [process.execPath, ...process.argv.slice(1, 2)].map(quotedWord).join(' ');
  const ways = chosen.map(({ setup, program }) => ({ setup, program, known: bypasses[setup.client] ?? [] }));
  const total = ways.reduce((sum, { known }) => sum + known.length, 0);
  const progress = startProgress(call);
  const tried: Tried[] = [];
  try {
    for (const { setup, program, known } of ways) {
      const scope = installedAt(setup, { env: io.env, etc })?.scope ?? null;
      const drilled = { setup, program, scope, plane, env: io.env, etc, gov, keyFile: keyFileHere ?? null };
      progress.at(`${setup.client}: a call without a way around`);
      const hasPassed = drills.find(({ client }) => client === setup.client)?.passed === true;
      const inTheWay = hasPassed ? await obstacle(drilled) : 'the drill failed: the hooks do not work';
      for (const way of known) {
        signal.throwIfAborted();
        progress.at(`${setup.client}: ${way.id}, ${tried.length + 1} of ${total}`);
        tried.push(await tryBypass(way, drilled, inTheWay));
      }
    }
  } finally {
    progress.stop();
  }
  const ok = drills.every(({ passed }) => passed) && tried.every(({ result }) => result !== 'open');
  const isAll = tried.every(({ result }) => result !== 'not_shown');
  out.verdict = !ok ? exit.checkFailed : isAll ? exit.ok : exit.partial;
  const { red, green, yellow, dim } = out.styles;
  const count = (wanted: Tried['result']): number => tried.filter(({ result }) => result === wanted).length;
  await printReport(out, {
    whole: { ok, drills, bypasses: tried },
    columns: textColumns(
      out.isHuman
        ? ['client', 'version', 'way', 'result', 'title']
        : ['client', 'version', 'scope', 'way', 'result', 'reason', 'closes'],
    ),
    rows: tried.map((each) => ({
      ...each,
      way: each.id,
      version: each.version ?? '-',
      scope: each.scope ?? '-',
      result: each.result.replace('_', ' '),
    })),
    foot: [
      safe`${count('open')} open, ${count('shut')} shut, ${count('not_shown')} not shown`,
      ...drills
        .filter(({ passed }) => !passed)
        .map(({ client, reason }) => safe`${red('✗')} ${client}: ${reason}`),
      ...openLines(tried).map((line) => safe`${red('✗')} ${line}`),
      ...tried.flatMap(({ client, id, result, reason }) =>
        result === 'not_shown' ? [safe`${yellow('!')} ${client} ${id} is not shown: ${reason}`] : [],
      ),
      ...(ok && isAll ? [safe`${green('✓')} no known way is open`] : []),
      dim(safe`results: gov events list --run ${shellWord(drillRun)} --type ${bypassType}`),
    ],
  });
  return out.verdict;
}

/** The open ways by what closes them. */
function openLines(tried: readonly Tried[]): string[] {
  const open = tried.filter(({ result }) => result === 'open');
  const groups = Map.groupBy(open, ({ client, closes }) => JSON.stringify([client, closes]));
  return [...groups.values()].flatMap((ways) => {
    const [first] = ways;
    if (first === undefined) return [];
    return [
      `${first.client}: open: ${ways.map(({ id }) => id).join(', ')}. What closes this: ${first.closes}`,
    ];
  });
}

/** Installs the timer of this user. A key that only a variable has cannot be used later. */
async function schedule(call: Invocation<typeof spec>, everyMs: number): Promise<number> {
  const { args, flags, globals, io, out } = call;
  if (everyMs < 3_600_000) throw usage('--every: expected at least 1h, because a drill starts the client');
  if (args.client !== undefined) await choose(call);
  if (io.env['GOV_API_KEY'] !== undefined)
    throw usage(
      'expected a context or GOV_API_KEY_FILE, got a key in GOV_API_KEY, which a timer does not have',
      'gov context add, or put the key into a file',
    );
  const context = typeof globals['context'] === 'string' ? ['-C', globals['context']] : [];
  const client = args.client === undefined ? [] : [args.client];
  const ways = flags.bypasses ? ['--bypasses'] : [];
  const words = ['agents', 'drill', ...client, ...ways, ...context];
  const changes = plannedTimer({ everyMs, words, env: io.env });
  if (!flags.dryRun) installTimer(changes, io.env);
  await showChanges(out, changes, { dryRun: flags.dryRun });
  if (!flags.dryRun)
    await out.note(
      safe`next: "drills": {"everyHours": ${Math.max(1, Math.ceil((everyMs * 2) / 3_600_000))}} in plane.json, so that the plane reports a timer that stops`,
    );
  return exit.ok;
}

async function choose({ args, io }: Invocation<typeof spec>): Promise<readonly Chosen[]> {
  const setups = setupsNamed(args.client).filter(({ client }) => drillable.includes(client));
  if (setups.length === 0)
    throw usage(`expected one of ${drillable.join(', ')}: gov cannot start ${args.client ?? 'it'}`);
  const found = await Promise.all(
    setups.map(async (setup) => ({ setup, program: await findProgram(setup, io.env) })),
  );
  const chosen = found.flatMap(({ setup, program }) => (program === null ? [] : [{ setup, program }]));
  if (chosen.length > 0) return chosen;
  const names = setups.flatMap(({ programs }) => programs).join(' or ');
  throw new CliError(exit.notFound, `expected ${names} on PATH, found none`, {
    code: 'NOT_FOUND',
    hint: 'a drill starts the client: install it here, or run the drill on the machine that has it',
  });
}
