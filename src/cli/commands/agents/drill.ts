/** `gov agents drill [CLIENT]`. Tested by `test/cli/agents/drill.test.ts`. */
import { drillRun } from '../../../core/agents/drills.ts';
import { drill, ensurePolicy, type Drilled } from '../../agents/drill/judge.ts';
import { canDrill } from '../../agents/drill/start.ts';
import { findProgram } from '../../agents/program.ts';
import { setupsNamed } from '../../agents/target.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { agentsDrill as spec } from './spec.ts';

const columns = textColumns(['client', 'version', 'result', 'stopped', 'recorded', 'durationMs', 'reason']);

export const run: Run<typeof spec> = async (call) => {
  const { io, out, session } = call;
  const chosen = await choose(call);
  const plane = await session.client();
  await ensurePolicy(plane);
  const results: Drilled[] = [];
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
    foot: [out.styles.dim(safe`results: gov events list --run ${drillRun}`)],
  });
  return out.verdict;
};

async function choose({ args, io }: Invocation<typeof spec>) {
  const setups = setupsNamed(args.client).filter(({ client }) => canDrill(client));
  if (setups.length === 0)
    throw usage(`expected claude-code or codex: gov cannot start ${args.client ?? 'it'}`);
  const found = await Promise.all(
    setups.map(async (setup) => ({ client: setup.client, program: await findProgram(setup, io.env) })),
  );
  const chosen = found.flatMap(({ client, program }) => (program === null ? [] : [{ client, program }]));
  if (chosen.length > 0) return chosen;
  const names = setups.flatMap(({ programs }) => programs).join(' or ');
  throw new CliError(exit.notFound, `expected ${names} on PATH, found none`, { code: 'NOT_FOUND' });
}
