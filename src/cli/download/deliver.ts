/**
 * Downloads a completed export to a file or to standard output.
 * Tested by `test/cli/download/deliver.test.ts` with a server that breaks connections, changes bytes and refuses.
 */
import type { Client } from '../../client/create.ts';
import { downloadExport, type DownloadResult, type DownloadSink } from '../../client/download.ts';
import { GovNetworkError } from '../../client/errors.ts';
import { exportFormats, exportResources, type ExportJob } from '../../contract/exports.ts';
import { isOpen } from '../../contract/job-words.ts';
import { verifyExport } from '../../core/exports/verify.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Invocation } from '../context/command.ts';
import type { FlagValues } from '../program/spec.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { printExport } from '../trust/export-verdict.ts';
import { isStream, openOutput, refuseTerminal } from '../terminal/output-file.ts';
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import type { exportDownload } from '../specs/prove/export.ts';
import { trustFrom, type TrustSource } from '../context/trust.ts';
import { plainView } from '../terminal/view.ts';
import { startProgress } from '../progress/show.ts';
import { isExportId, partOf, PartFile, requireFree } from './file.ts';
import { RowPipe } from './rows.ts';
import { counted } from '../terminal/numbers.ts';

type Flags = FlagValues<typeof exportDownload>;
export type Delivery = Pick<Invocation<typeof exportDownload>, 'flags' | 'out' | 'io' | 'session' | 'signal'>;

/** Checks the flags before any request. Errors: exit 2. */
export function checkFlags(
  delivery: Delivery,
  known: { readonly format?: string | undefined; readonly isProved?: boolean } = {},
): void {
  const { flags, session } = delivery;
  const { out: target, verify, ndjson, force } = flags;
  if (target === '') requireFree(target, { force });
  const isPiped = target !== undefined && isStream(target, delivery);
  if (isPiped) refuseTerminal(target, delivery);
  if (isPiped && verify)
    throw usage(
      `--verify: expected a file, got -O ${target}`,
      'use a pipe instead: … -O - | gov proofs verify -',
    );
  if (verify && ndjson)
    throw usage('expected --verify or --ndjson, got both: --verify needs the whole artifact');
  if (ndjson && known.format === 'csv') throw usage('--ndjson: expected an export of json, got csv');
  if (verify && known.format === 'csv')
    throw usage('--verify: expected an export of json, got csv, which has no proof');
  if (verify && known.isProved === false)
    throw usage('--verify: expected an export with proof, got one without', 'create it with --proof');
  if (verify && trustFrom(flags, session) === null)
    throw usage(
      '--verify: expected a trusted key, got none',
      'give --key VKEY or --trust FILE from a source you trust',
    );
  if (target !== undefined && !isPiped) requireFree(target, { force });
}

/** Downloads the export. Returns the exit code. */
export async function deliver(delivery: Delivery, exported: ExportJob): Promise<number> {
  const { flags, out, session } = delivery;
  const { exportId, format, includeProof, resource } = exported;
  requireNames(exported);
  if (exported.status !== 'completed') throw notReady(exported);
  checkFlags(delivery, { format, isProved: includeProof });
  const client = await session.client();
  const target = flags.out ?? `${resource}-${exportId}.${flags.ndjson ? 'ndjson' : format}`;
  if (isStream(target, delivery)) {
    await toPipe(delivery, client, { exported, target });
    return exit.ok;
  }
  requireFree(target, flags);
  const { force } = flags;
  const file = await PartFile.open(target, { force, path: partOf(target, exportId) });
  try {
    const got = await toFile(delivery, client, { exported, file });
    const source = flags.verify ? trustFrom(flags, session) : null;
    const code = source === null ? exit.ok : await verified(out, file, source);
    if (code !== exit.ok) return code;
    if (flags.ndjson) await asRows(file, { target, force, exportId });
    else await file.finish();
    if (source === null) await told(out, { exported, got, target, flags });
    else await out.note(safe`wrote ${target} (${counted(got.sizeBytes, 'byte')}, ${got.sha256})`);
    return exit.ok;
  } finally {
    await file.close();
  }
}

async function toFile(
  delivery: Delivery,
  client: Client,
  { exported, file }: { readonly exported: ExportJob; readonly file: PartFile },
): Promise<DownloadResult> {
  if (file.held > 0) await delivery.out.note(safe`continues ${file.path} after ${file.held} bytes`);
  try {
    return await fetched(delivery, client, { exported, sink: file });
  } catch (failure) {
    const isStale = failure instanceof GovNetworkError && failure.code === 'INTEGRITY' && file.held > 0;
    if (!isStale) throw failure;
    await delivery.out.note(safe`${file.path} was not the beginning of this export; starting over`);
    await file.restart();
    return fetched(delivery, client, { exported, sink: file });
  }
}

/** Downloads the artifact and compares it with the export's current metadata. */
async function fetched(
  delivery: Delivery,
  client: Client,
  { exported, sink }: { readonly exported: ExportJob; readonly sink: DownloadSink },
): Promise<DownloadResult> {
  const { exportId, sha256, sizeBytes } = exported;
  const progress = startProgress(delivery);
  try {
    const got = await downloadExport(client, sink, {
      exportId,
      sha256: sha256 ?? '',
      sizeBytes: sizeBytes ?? 0,
      signal: delivery.signal,
      onProgress: (done, total) => progress.at('downloading', { done, total, unit: 'bytes' }),
    });
    const newer = got.sha256 === sha256 ? exported : (await client.getExport({ params: { exportId } })).body;
    if (got.sha256 === newer.sha256) return got;
    throw new GovNetworkError(
      'INTEGRITY',
      `expected the SHA-256 ${newer.sha256 ?? 'none'}, got ${got.sha256}`,
    );
  } finally {
    progress.stop();
  }
}

/** Copies to standard output, a pipe or a device as bytes arrive. The reader may close it. */
async function toPipe(
  delivery: Delivery,
  client: Client,
  { exported, target }: { readonly exported: ExportJob; readonly target: string },
): Promise<void> {
  const output = await openOutput(target, delivery);
  const rows = delivery.flags.ndjson ? new RowPipe((text) => output.write(Buffer.from(text))) : null;
  const sink: DownloadSink = {
    held: 0,
    async *read() {},
    write: (chunk) => (rows === null ? output.write(chunk) : rows.write(chunk)),
    restart: () =>
      Promise.reject(
        new CliError(exit.error, 'the artifact changed during the download', {
          code: 'CHANGED',
          hint: 'run the command again',
        }),
      ),
  };
  try {
    await fetched(delivery, client, { exported, sink });
  } finally {
    output.close();
  }
}

async function verified(out: Out, file: PartFile, source: TrustSource): Promise<number> {
  const verdict = await verifyExport(file.read(), source.trust);
  const code = await printExport(out, { verdict, source, explain: false });
  if (code !== exit.ok) await out.warn(safe`not verified: the download is in ${file.path}`);
  return code;
}

/** Writes the rows of the artifact to the target, and removes the artifact. */
async function asRows(
  file: PartFile,
  of: { readonly target: string; readonly force: boolean; readonly exportId: string },
): Promise<void> {
  const { target, force, exportId } = of;
  const rows = await PartFile.open(target, { force, path: partOf(`${target}.rows`, exportId) });
  try {
    await rows.restart();
    const pipe = new RowPipe((text) => rows.write(Buffer.from(text)));
    for await (const chunk of file.read()) await pipe.write(chunk);
    await rows.finish();
  } catch (failure) {
    await rows.remove();
    throw failure;
  } finally {
    await rows.close();
  }
  await file.remove();
}

async function told(
  out: Out,
  of: {
    readonly exported: ExportJob;
    readonly got: DownloadResult;
    readonly target: string;
    readonly flags: Flags;
  },
): Promise<void> {
  const { exported, got, target, flags } = of;
  const { exportId, rowCount, includeProof } = exported;
  await out.one({ exportId, file: target, rowCount, ...got }, plainView(['exportId', 'file'], 'exportId'));
  if (out.isHuman && includeProof && !flags.ndjson)
    await out.note(safe`verify it: gov proofs verify ${shellWord(target)}`);
}

/** Rejects responses that cannot name a file. A service may only name files in the current folder. Errors: exit 10. */
function requireNames({ exportId, resource, format }: ExportJob): void {
  const isKnown =
    isExportId(exportId) && exportResources.includes(resource) && exportFormats.includes(format);
  if (isKnown) return;
  const got = JSON.stringify({ exportId, resource, format });
  throw new GovNetworkError('INVALID_ANSWER', `expected an export, got ${got}`);
}

function notReady({ exportId, status, errorSummary }: ExportJob): CliError {
  const reason = errorSummary === null ? '' : `: ${errorSummary}`;
  const isPending = isOpen(status);
  return new CliError(
    exit.conflict,
    `expected a completed export, got ${exportId}, which is ${status}${reason}`,
    {
      code: isPending ? 'EXPORT_NOT_READY' : status === 'expired' ? 'EXPORT_EXPIRED' : 'EXPORT_FAILED',
      ...(isPending
        ? { next: [`gov export get ${shellWord(exportId)}`] }
        : { hint: 'create it again with gov export run' }),
    },
  );
}
