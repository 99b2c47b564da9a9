/** `gov doctor`: exit 3 if a check failed. Tested by `test/cli/doctor/run.test.ts`. */
import { bundleParts, bundleText } from '../../doctor/bundle.ts';
import { diagnose } from '../../doctor/diagnose.ts';
import type { Diagnosis } from '../../doctor/diagnose.ts';
import type { DoctorFinding } from '../../doctor/finding.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { checkLines } from '../../terminal/checks.ts';
import { isStream, writeOutput } from '../../terminal/output-file.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { doctor as spec } from '../../specs/tool/doctor.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { bundle } = call.flags;
  if (bundle !== undefined) checkBundleName(bundle, call);
  const diagnosis = await diagnose(call);
  const failures = diagnosis.checks.filter(({ status }) => status === 'failed').length;
  call.out.verdict = failures === 0 ? exit.ok : exit.checkFailed;
  await print(diagnosis, call);
  if (bundle !== undefined) await writeBundle(bundle, diagnosis, call);
  return call.out.verdict;
};

async function print({ checks }: Diagnosis, { out }: Call): Promise<void> {
  const count = (status: string): number => checks.filter((each) => each.status === status).length;
  const [failures, warnings] = [count('failed'), count('warning')];
  if (out.isHuman) {
    await out.lines(
      checkLines(shown(checks), out.styles, out.settings.tty ? out.settings.columns : Infinity),
    );
  } else if (out.format === 'ndjson') {
    for (const check of checks) await out.json(check);
  } else {
    await printReport(out, {
      whole: { ok: failures === 0, checks },
      columns: textColumns(['name', 'status', 'detail', 'next']),
      rows: checks.map((check) => ({ ...check })),
    });
  }
  const rest = warnings === 0 ? '' : `, ${warnings} of them with a warning`;
  const good = checks.length - failures;
  await out.note(
    failures === 0
      ? safe`no check failed: ${good} checks${rest}`
      : safe`${failures} of ${checks.length} checks failed`,
  );
}

/** For people: checks that were skipped for one reason are one line. */
function shown(checks: Diagnosis['checks']) {
  const skips = Map.groupBy(
    checks.filter(({ status }) => status === 'skipped'),
    ({ detail }) => detail,
  );
  const isGrouped = ({ status, detail }: DoctorFinding): boolean =>
    status === 'skipped' && (skips.get(detail)?.length ?? 0) > 1;
  const groups = [...skips].filter(([, each]) => each.length > 1);
  return [
    ...checks.filter((check) => !isGrouped(check)).map(({ next, ...each }) => ({ ...each, advice: next })),
    ...groups.map(([detail, each]) => ({
      name: 'skipped',
      status: 'skipped' as const,
      detail: `${each.map(({ name }) => name).join(', ')}: ${detail}`,
      advice: null,
    })),
  ];
}

/** An archive would hide what is inside. */
function checkBundleName(file: string, call: Call): void {
  if (/\.(?:gz|tgz|tar|zip)$/i.test(file))
    throw usage(
      `--bundle: expected a name such as gov-support.json, got ${JSON.stringify(file)}`,
      'the bundle is one JSON text, which you can read',
    );
  if (isStream(file, call))
    throw usage('--bundle: expected a file, got a pipe or a device', 'gov doctor --bundle gov-support.json');
}

async function writeBundle(file: string, diagnosis: Diagnosis, call: Call): Promise<void> {
  const { out, io } = call;
  const parts = bundleParts(diagnosis, io);
  await out.note(safe`the bundle has:`);
  for (const { what } of parts) await out.note(safe`  ${what}`);
  await writeOutput(file, Buffer.from(bundleText(parts)), call, 0o600);
  await out.note(safe`wrote ${file}; nothing was sent: read it, then send it to those who help you`);
}
