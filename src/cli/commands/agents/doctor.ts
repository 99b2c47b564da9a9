/** `gov agents doctor [CLIENT]`: exit 3 if a call could run without a decision. Tested by `test/cli/agents/doctor.test.ts`. */
import { accessSync, constants } from 'node:fs';
import { inspect, type ClientReport } from '../../agents/doctor.ts';
import { drilledHere } from '../../agents/drill/results.ts';
import { drillable } from '../../agents/drill/start.ts';
import { hasTimer } from '../../agents/drill/timer.ts';
import { etc, setupsNamed } from '../../agents/target.ts';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { agentsDoctor as spec } from '../../specs/decide/agents.ts';

const names = ['client', 'found', 'version', 'installed', 'trusted', 'failsClosed', 'reachable', 'drilled'];

export const run: Run<typeof spec> = async ({ args, io, out, session }) => {
  const around = { env: io.env, cwd: io.cwd, etc };
  const all = await Promise.all(setupsNamed(args.client).map((setup) => inspect(setup, around)));
  // a client that is neither here nor set up runs nothing
  const found = args.client === undefined ? all.filter(isHere) : all;
  const drills = await drilledHere(() => session.client({ retries: 0 }));
  const here = found.map((report) => {
    const { drilled, problems } = drills.of(report.client);
    return { ...report, drilled, problems: [...report.problems, ...problems] };
  });
  const ok = here.every(
    ({ failsClosed, reachable, problems }) => failsClosed && reachable && problems.length === 0,
  );
  out.verdict = ok ? exit.ok : exit.checkFailed;
  const said = (value: boolean | null): string => (value === null ? '-' : value ? 'yes' : 'no');
  await printReport(out, {
    whole: { ok, clients: here },
    // a terminal has the problems below the table
    columns: textColumns(out.isHuman ? names : [...names, 'problems', 'tested']),
    rows: here.map((report) => ({
      ...report,
      found: said(report.found !== null),
      version: report.version ?? '-',
      installed: report.installed ?? 'no',
      trusted: said(report.trusted),
      failsClosed: said(report.failsClosed),
      reachable: said(report.reachable),
      drilled: report.drilled ?? '-',
      problems: report.problems.join('; '),
      tested: report.tested ?? '-',
    })),
    foot: here.flatMap(({ title, tested, problems, settings }) => [
      ...problems.map((problem) => safe`${out.styles.red('✗')} ${title}: ${problem}`),
      ...settings
        .filter(({ state }) => state === 'no setting')
        .map(
          (each) =>
            safe`${out.styles.yellow('!')} ${title}: no setting closes: ${each.title}; ${each.closes}`,
        ),
      ...(tested === null ? [safe`${out.styles.yellow('!')} ${title}: not tested here`] : []),
    ]),
  });
  if (here.some(({ client }) => drillable.includes(client)) && !hasTimer(io.env))
    await out.note(safe`no timer runs drills: gov agents drill --every 24h`);
  if (here.length === 0) await out.note(safe`no client of agents on PATH, and none is set up`);
  const context = session.context()?.context;
  if (context?.kind === 'plane' && process.getuid?.() !== 0 && isWritable(context.dataDir))
    await out.warn(
      safe`agents of this user can write the files of the plane in ${context.dataDir}: sudo gov agents install --scope managed moves it`,
    );
  return out.verdict;
};

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const isHere = ({ found, installed }: ClientReport): boolean => found !== null || installed !== null;
