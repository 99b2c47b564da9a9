/**
 * `gov forward verify`: checks what a target of an object store holds, without the plane. Exit 0 whole, 3 not, 5 nothing
 * there. Tested by
 * `test/cli/commands/forward/verify.test.ts`, archives by `test/host/forwards/verify.test.ts`.
 */
import { resolve } from 'node:path';
import { GovError } from '../../../contract/problems.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { startProgress } from '../../progress/show.ts';
import { counted } from '../../terminal/numbers.ts';
import type { Safe } from '../../terminal/safe.ts';
import { safe } from '../../terminal/safe.ts';
import { csvLine, tabbedLine } from '../../terminal/table.ts';
import { plainView } from '../../terminal/view.ts';
import type { forwardVerify as spec } from '../../specs/operate/forward.ts';

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
  if (out.isHuman) await out.lines(linesOf(report, call));
  else if (out.format === 'tsv' || out.format === 'csv')
    await out.lines(rowsOf(report, out.format === 'csv'));
  else await out.one(report, plainView(['ok']));
  return out.verdict;
};

async function openArchive({ args, flags, io, session, signal }: Call) {
  const { folderArchive, bucketArchive } = await import('../../../host/forwards/archive.ts');
  const { target, data, endpoint, region, accessKeyId, secretFile, secretEnv, ca } = flags;
  const { place } = args;
  const isAddress = place !== undefined && /^[a-z0-9+]+:\/\//i.test(place);
  if ((place === undefined) === (target === undefined) || (isAddress && !place.startsWith('s3://')))
    throw usage('expected a folder, s3://BUCKET/PREFIX or --target NAME, and only one of them');
  if (place !== undefined && !isAddress) return folderArchive(resolve(io.cwd, place));
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
        region: region ?? needed('AWS_REGION', '--region', io.env),
        accessKeyId: accessKeyId ?? needed('AWS_ACCESS_KEY_ID', '--access-key-id', io.env),
        secretEnv: secretFile === undefined ? (secretEnv ?? 'AWS_SECRET_ACCESS_KEY') : undefined,
        secretFile: path(secretFile),
        ca: path(ca),
        endpoint,
      }),
  });
  return bucketArchive(bucket, prefix, signal);
}

function needed(variable: string, flag: string, env: Call['io']['env']): string {
  const value = env[variable] ?? '';
  if (value === '') throw usage(`expected ${flag}, or the variable ${variable}`);
  return value;
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

/** One line each for a pipe: `archive`, then `chain` and `problem` with the project first. */
function rowsOf({ ok, chains, problems }: Report, asCsv: boolean): Safe[] {
  const rows = [
    ['archive', ok ? 'whole' : 'not whole'],
    ...chains.flatMap(
      ({ projectId, origin, manifests, objects, records, leaves, head, problems: faults }) => [
        ['chain', projectId, origin, manifests, objects, records, leaves?.from, leaves?.to, head],
        ...faults.map((fault) => ['problem', projectId, fault]),
      ],
    ),
    ...problems.map((problem) => ['problem', null, problem]),
  ];
  return rows.map((line) => (asCsv ? csvLine(line) : tabbedLine(line)));
}

/** Without the members that were not given. */
const present = (
  given: { readonly name: string; readonly to: string } & Readonly<Record<string, string | undefined>>,
) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    readonly name: string;
    readonly to: string;
  };
