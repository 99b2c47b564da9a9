/**
 * `gov plane restore`: exit 3 if the backup is behind a known checkpoint.
 * Tested by `test/cli/commands/plane/places.test.ts`.
 */
import { resolve } from 'node:path';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { readText } from '../../program/flags.ts';
import { readInput } from '../../terminal/input.ts';
import { startProgress } from '../../progress/show.ts';
import { safe, type Safe, type Styles } from '../../terminal/safe.ts';
import type { planeRestore as spec } from '../../specs/operate/plane.ts';
import { plainView } from '../../terminal/view.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, io, signal } = call;
  const { lastCheckpoint: names, unproven } = flags;
  if ((names.length === 0) !== unproven) {
    throw usage(
      'expected one of --last-checkpoint FILE and --unproven',
      'give the newest checkpoint of a client, a witness or the service; --unproven if nobody has one',
    );
  }
  const lastCheckpoints = await Promise.all(
    names.map(async (name) => {
      const { bytes } = await readInput(name, { io, signal });
      return { name, bytes, ...(name === '-' ? {} : { path: resolve(io.cwd, name) }) };
    }),
  );
  const { planeRestore } = await import('../../../../plane/data/restore.ts');
  const progress = startProgress(call);
  const restored = await planeRestore({
    from: resolve(io.cwd, args.from),
    dataDir: resolve(io.cwd, flags.data),
    lastCheckpoints,
    trust: flags.trust === undefined ? undefined : readText(flags.trust, io.cwd),
    onProgress: ({ step, done, of }) => {
      signal.throwIfAborted();
      progress.at(step, { done, total: of, unit: step === 'checking' ? 'leaves' : 'bytes' });
    },
  }).finally(() => progress.stop());
  out.verdict = restored.verdict === 'behind' ? exit.checkFailed : exit.ok;
  if (out.isHuman) await out.lines(told(restored, out.styles));
  else await out.one(restored, plainView(Object.keys(restored)));
  const { unopened, lacksSubjects, withKeys } = restored;
  if (lacksSubjects) {
    await out.warn(
      safe`${unopened} bodies about subjects are unreadable without subjects.db, which is not in the backup; values erased since the backup stay unreadable, and fsck reports them until you erase them here too`,
    );
  }
  const needed = [
    ...(withKeys ? [] : ['the plane’s keys/']),
    ...(lacksSubjects ? ['its newest subjects.db'] : []),
  ];
  if (needed.length > 0) await out.note(safe`next: put ${needed.join(' and ')} into ${restored.dataDir}`);
  else if (restored.verdict !== 'behind')
    await out.note(safe`next: gov plane serve --data ${shellWord(restored.dataDir)}`);
  return out.verdict;
};

interface RestoreResult {
  readonly verdict: 'proven' | 'unproven' | 'behind';
  readonly dataDir: string;
  readonly createdAt: string;
  readonly logs: readonly { readonly tree: string; readonly size: number; readonly origin: string }[];
  readonly known: readonly {
    readonly from: string;
    readonly origin: string;
    readonly size: number;
    readonly verdict: string;
    readonly have: number;
    readonly missing: number;
  }[];
}

function told({ verdict, dataDir, createdAt, logs, known }: RestoreResult, styles: Styles): Safe[] {
  const { bold, green, red, yellow } = styles;
  const heads = {
    proven: green('✓ restored; no entry of the given checkpoints is missing'),
    unproven: yellow('! restored; entries signed later may be missing: nothing proves the opposite'),
    behind: red('✗ restored, but BEHIND a signed checkpoint: it does not serve'),
  } as const;
  return [
    safe`${bold(heads[verdict])}  ${dataDir}`,
    safe`  backup of ${createdAt}, every file and record verified`,
    ...logs.map(
      (log) => safe`  ${log.tree.padEnd(8)}  ${counted(log.size, 'leaf', 'leaves')}  ${log.origin}`,
    ),
    ...known.map((each) =>
      each.verdict === 'contained'
        ? safe`  ${green('✓')} ${each.from}: ${each.origin} at ${counted(each.size, 'leaf', 'leaves')} is contained`
        : safe`  ${red('✗')} ${each.from}: ${each.origin} has ${counted(each.size, 'leaf', 'leaves')}, ${each.missing} more than here`,
    ),
    ...(verdict === 'behind'
      ? [
          safe`  find a newer backup. If there is none, start a new log with gov log recover, and keep this one to`,
          safe`  verify and to read: gov log fsck --data ${shellWord(dataDir)}`,
        ]
      : []),
  ];
}
