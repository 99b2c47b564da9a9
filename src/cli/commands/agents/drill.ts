/** `gov agents drill [CLIENT]`. Tested by `test/cli/agents/drill.test.ts`. */
import { drillRun } from '../../../core/agents/drills.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { drill, ensurePolicy, type DrillResult } from '../../agents/drill/judge.ts';
import { drillable } from '../../agents/drill/start.ts';
import { installTimer, plannedTimer } from '../../agents/drill/timer.ts';
import { findProgram } from '../../agents/program.ts';
import { showChanges } from '../../agents/show-changes.ts';
import { setupsNamed } from '../../agents/target.ts';
import type { Invocation, Run } from '../../context/command.ts';
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
  for (const { client, program } of chosen)
    results.push(await drill(client, program, { plane, env: io.env }));
  out.verdict = results.every(({ passed }) => passed) ? exit.ok : exit.checkFailed;
  const said = (value: boolean): string => (value ? 'yes' : 'no');
  await printReport(out, {
    whole: { ok: out.verdict === exit.ok, drills: results },
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
  const words = ['agents', 'drill', ...client, ...context];
  const changes = plannedTimer({ everyMs, words, env: io.env });
  if (!flags.dryRun) installTimer(changes, io.env);
  await showChanges(out, changes, { dryRun: flags.dryRun });
  if (!flags.dryRun)
    await out.note(
      safe`next: "drills": {"everyHours": ${Math.max(1, Math.ceil((everyMs * 2) / 3_600_000))}} in plane.json, so that the plane reports a timer that stops`,
    );
  return exit.ok;
}

async function choose({ args, io }: Invocation<typeof spec>) {
  const setups = setupsNamed(args.client).filter(({ client }) => drillable.includes(client));
  if (setups.length === 0)
    throw usage(`expected one of ${drillable.join(', ')}: gov cannot start ${args.client ?? 'it'}`);
  const found = await Promise.all(
    setups.map(async (setup) => ({ client: setup.client, program: await findProgram(setup, io.env) })),
  );
  const chosen = found.flatMap(({ client, program }) => (program === null ? [] : [{ client, program }]));
  if (chosen.length > 0) return chosen;
  const names = setups.flatMap(({ programs }) => programs).join(' or ');
  throw new CliError(exit.notFound, `expected ${names} on PATH, found none`, {
    code: 'NOT_FOUND',
    hint: 'a drill starts the client: install it here, or run the drill on the machine that has it',
  });
}
