/**
 * `gov forward verify`: checks what a target of an object store holds, without the plane. Exit 0 whole, 3 not, 5 nothing
 * there. Tested by `test/host/forwards/verify.test.ts`.
 */
import { resolve } from 'node:path';
import { GovError } from '../../../contract/problems.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { startProgress } from '../../progress/show.ts';
import { counted } from '../../terminal/numbers.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { forwardVerify as spec } from './spec.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, signal } = call;
  const { verifyForwarded } = await import('../../../host/forwards/verify.ts');
  const archive = await openArchive(call);
  const progress = startProgress(call);
  const onProgress = (leaves: number): void => {
    signal.throwIfAborted();
    progress.at('verifying', { done: leaves, total: null, unit: 'leaves' });
  };
  const report = await verifyForwarded(archive, {
    origins: flags.origin,
    contains: flags.contains,
    onProgress,
  })
    .catch((cause: unknown) => {
      if (cause instanceof GovError || signal.aborted || !(cause instanceof Error)) throw cause;
      throw new CliError(exit.network, cause.message, { code: 'ARCHIVE_UNREADABLE', cause });
    })
    .finally(() => {
      progress.stop();
      archive.close();
    });
  out.verdict = report.ok ? exit.ok : exit.checkFailed;
  if (!out.isHuman) await out.one(report, plainView(['ok', 'chains', 'problems']));
  else await out.lines(linesOf(report, call));
  return out.verdict;
};

async function openArchive({ args, flags, io, session }: Call) {
  const { folderArchive, bucketArchive } = await import('../../../host/forwards/archive.ts');
  const { target, data, endpoint, region, accessKeyId, secretFile, secretEnv, ca } = flags;
  const { place } = args;
  if ((place === undefined) === (target === undefined))
    throw usage('expected a folder, s3://BUCKET/PREFIX or --target NAME, and only one of them');
  if (place !== undefined && !place.startsWith('s3://')) return folderArchive(resolve(io.cwd, place));
  const { openBucket } = await import('../../../host/data/forwards.ts');
  const path = (name: string | undefined) => (name === undefined ? undefined : resolve(io.cwd, name));
  const { bucket, prefix } = openBucket({
    dataDir: target === undefined ? io.cwd : resolve(io.cwd, data ?? session.dataDir()),
    env: io.env,
    at:
      target ??
      present({
        name: 'verify',
        to: place ?? '',
        region: region ?? io.env['AWS_REGION'],
        accessKeyId: accessKeyId ?? io.env['AWS_ACCESS_KEY_ID'],
        secretEnv: secretFile === undefined ? (secretEnv ?? 'AWS_SECRET_ACCESS_KEY') : undefined,
        secretFile: path(secretFile),
        ca: path(ca),
        endpoint,
      }),
  });
  return bucketArchive(bucket, prefix);
}

/** The shown parts of the host's report. The host is loaded only when this command runs. */
interface Report {
  readonly ok: boolean;
  readonly chains: readonly {
    readonly projectId: string;
    readonly origin: string | null;
    readonly manifests: number;
    readonly objects: number;
    readonly records: number;
    readonly leaves: { readonly from: number; readonly to: number } | null;
    readonly head: string | null;
    readonly problems: readonly string[];
  }[];
  readonly problems: readonly string[];
}

function linesOf({ ok, chains, problems }: Report, { out }: Call): Safe[] {
  const { bold, green, red, dim } = out.styles;
  const lines = [
    safe`${bold(ok ? green('✓ whole') : red('✗ NOT WHOLE'))}  ${counted(chains.length, 'chain')} of manifests`,
  ];
  for (const { projectId, origin, manifests, objects, records, leaves, head, problems: faults } of chains) {
    const range = leaves === null ? '' : `, leaves ${leaves.from} to ${leaves.to - 1}`;
    lines.push(
      safe`${bold(projectId)}  ${origin ?? ''}`,
      safe`  read  ${counted(manifests, 'manifest')}, ${counted(objects, 'object')}, ${counted(records, 'record')}${range}`,
    );
    if (head !== null) lines.push(safe`  head  ${head}`);
    for (const fault of faults) lines.push(safe`  ${red('✗')} ${fault}`);
  }
  for (const problem of problems) lines.push(safe`${red('✗')} ${problem}`);
  if (ok)
    lines.push(
      safe`${dim('A chain does not show that its newest part is still there: keep the head, and give it to the next verification with --contains.')}`,
    );
  return lines;
}

/** Without the members that were not given. */
const present = (
  given: { readonly name: string; readonly to: string } & Readonly<Record<string, string | undefined>>,
) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    readonly name: string;
    readonly to: string;
  };
