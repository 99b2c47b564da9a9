/** Waits for a report and downloads an artifact. Tested by `test/cli/commands/report/run.test.ts` at a real plane. */
import { resolve } from 'node:path';
import type { Client } from '../../client/create.ts';
import { downloadFile, type DownloadSink } from '../../client/download.ts';
import { GovNetworkError } from '../../client/errors.ts';
import type { ReportExecution, ReportFormat, ReportSignature } from '../../contract/report-parts.ts';
import { idPattern } from '../../contract/text-patterns.ts';
import { canonicalText } from '../../core/json/canonical.ts';
import { signatureNameOf } from '../../core/reports/artifacts.ts';
import { shellWord } from '../../core/shell-word.ts';
import { partOf, PartFile, requireFree } from '../download/file.ts';
import type { Invocation } from '../context/command.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { openPath } from '../terminal/browser.ts';
import { isStream, openOutput, refuseTerminal, writeWhole } from '../terminal/output-file.ts';
import { safe } from '../terminal/safe.ts';
import { plainView } from '../terminal/view.ts';
import { startProgress } from '../progress/show.ts';
import { defaultWaitMs, waitUntil } from '../progress/waiting.ts';

type Call = Pick<Invocation, 'out' | 'io' | 'settings' | 'signal'>;

/** Null where an earlier version made the report. */
export type SignedExecution = ReportExecution & { readonly signature: ReportSignature | null };

/** Returns the report after it is complete. Errors: exit 1 if it failed, 8 at the deadline. */
export function completed(client: Client, executionId: string, call: Call): Promise<SignedExecution> {
  const deadline = performance.now() + (call.settings.timeoutMs ?? defaultWaitMs);
  return waitUntil(call, deadline, async () => {
    const { body } = await client.getExecution({ params: { executionId } });
    if (body.status === 'completed') return { done: body };
    if (body.status === 'failed') throw failed(body);
    return { open: `report ${body.status}`, stillOpen: stillOpen(body) };
  });
}

const failed = ({ executionId, errorSummary }: ReportExecution): CliError =>
  new CliError(exit.error, `report ${executionId} failed: ${errorSummary ?? 'no reason was kept'}`, {
    code: 'REPORT_FAILED',
  });

const stillOpen = ({ executionId, status }: ReportExecution): CliError =>
  new CliError(exit.pending, `report ${executionId} is still ${status}; it continues at the service`, {
    code: 'PENDING',
    next: [`gov report download ${shellWord(executionId)}`],
  });

interface Target {
  readonly out: string | undefined;
  readonly force: boolean;
  readonly open: boolean;
}

/** Checks the flags before any request. Errors: exit 2. */
export function checkTarget({ out: target, force, open }: Target, call: Call): void {
  if (target === undefined) return;
  if (!isStream(target, call)) return requireFree(pathOf(target, call), { force });
  if (open) throw usage(`--open: expected a file, got -O ${target}`);
  refuseTerminal(target, call);
}

/** An empty name stays empty, so that it is refused. */
const pathOf = (target: string, { io }: Call): string => (target === '' ? '' : resolve(io.cwd, target));

/** Downloads an artifact of a completed report to a file or a pipe. */
export async function deliver(
  client: Client,
  report: SignedExecution,
  of: { readonly call: Call; readonly format: ReportFormat | undefined; readonly target: Target },
): Promise<void> {
  const { call, target } = of;
  const { artifact, name } = artifactOf(report, of.format);
  const to = target.out ?? name;
  if (isStream(to, call)) return toPipe(client, { report, artifact, to, call });
  const path = pathOf(to, call);
  requireFree(path, target);
  const { force } = target;
  const { signature } = report;
  const beside = artifact.format === 'json' && signature !== null ? signatureNameOf(path) : null;
  if (beside !== null) requireFree(beside, target);
  const file = await PartFile.open(path, { force, path: partOf(path, report.executionId) });
  try {
    if (file.held > 0) await call.out.note(safe`continues ${file.path} after ${file.held} bytes`);
    const got = await fetched(client, { report, artifact, call, sink: file });
    await file.finish();
    // canonical JSON, as the log signed it
    if (beside !== null) writeWhole(beside, Buffer.from(canonicalText(signature)), 0o600);
    const signed = beside === null ? {} : { signature: signatureNameOf(to) };
    await call.out.one(
      { executionId: report.executionId, file: to, ...signed, ...got },
      plainView(['executionId', 'file'], 'executionId'),
    );
  } finally {
    await file.close();
  }
  const why = target.open ? await openPath(to, call.io) : null;
  if (why !== null) await call.out.warn(safe`the report did not open: ${why}`);
}

type Artifact = ReportExecution['artifacts'][number];

/** The artifact of a format, and a file name made of known parts. Errors: exit 6 for a missing one, 10 for a strange answer. */
function artifactOf(
  report: ReportExecution,
  format: ReportFormat | undefined,
): { readonly artifact: Artifact; readonly name: string } {
  const { executionId, reportTemplateId, formats } = report;
  const wanted = format ?? formats[0];
  const artifact = report.artifacts.find((each) => each.format === wanted);
  if (artifact === undefined || wanted === undefined) {
    throw new CliError(exit.notFound, `report ${executionId} has no ${wanted ?? 'artifact'}`, {
      code: 'NO_FORMAT',
      hint: `it has ${formats.join(', ')}`,
    });
  }
  const isKnown =
    new RegExp(idPattern('rex')).test(executionId) && /^[a-z0-9_-]{1,64}$/.test(reportTemplateId);
  if (!isKnown) throw new GovNetworkError('INVALID_ANSWER', 'expected a report, got another answer');
  return { artifact, name: `${reportTemplateId}-${executionId}.${wanted}` };
}

interface FetchInput {
  readonly report: ReportExecution;
  readonly artifact: Artifact;
  readonly call: Call;
}

async function fetched(client: Client, of: FetchInput & { readonly sink: DownloadSink }) {
  const { report, artifact, call, sink } = of;
  const progress = startProgress(call);
  const { executionId } = report;
  const { format, sha256, sizeBytes } = artifact;
  try {
    return await downloadFile(client, sink, {
      from: { operation: 'downloadReport', input: { params: { executionId }, query: { format } } },
      sha256: sha256 ?? '',
      sizeBytes: sizeBytes ?? 0,
      signal: call.signal,
      onProgress: (done, total) => progress.at('downloading', { done, total, unit: 'bytes' }),
    });
  } finally {
    progress.stop();
  }
}

async function toPipe(
  client: Client,
  { to, call, ...of }: FetchInput & { readonly to: string },
): Promise<void> {
  const output = await openOutput(to, call);
  const sink: DownloadSink = {
    held: 0,
    async *read() {},
    write: (chunk) => output.write(chunk),
    restart: () => Promise.reject(new CliError(exit.error, 'the artifact changed during the download')),
  };
  try {
    await fetched(client, { ...of, call, sink });
  } finally {
    output.close();
  }
}
