/** `gov evidence verify`: offline. Tested by `test/cli/commands/proofs/history.test.ts`. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { verifyEvidence } from '../../../core/evidence/file.ts';
import type { Run } from '../../context/command.ts';
import { trustFrom } from '../../context/trust.ts';
import { exit } from '../../program/exit.ts';
import { unreadable } from '../../program/flags.ts';
import { safe } from '../../terminal/safe.ts';
import { meaningOf } from '../../terminal/verdict.ts';
import { plainView } from '../../terminal/view.ts';
import type { evidenceVerify as spec } from '../../specs/prove/evidence.ts';

const unjudged: ReadonlySet<string | null> = new Set(['MALFORMED_EVIDENCE', 'NO_TRUSTED_KEY']);

const brokenTexts = {
  split_view: 'signed two histories',
  broken_receipt: 'lacks a leaf that it acknowledged',
  index_omission: 'signed an index that leaves out an event',
} as const;

export const run: Run<typeof spec> = async ({ args, flags, io, out, session }) => {
  const source = trustFrom(flags, session);
  let bytes: Buffer;
  try {
    bytes = readFileSync(resolve(io.cwd, args.file));
  } catch (cause) {
    throw unreadable(args.file, cause);
  }
  const verdict = verifyEvidence(bytes, source?.trust ?? null);
  const { verified, code, shows, origin, detail } = verdict;
  if (!verified) out.verdict = unjudged.has(code) ? exit.usage : exit.checkFailed;
  if (out.isHuman) {
    const { bold, green, red } = out.styles;
    await out.lines([
      verified
        ? safe`${bold(green('✓ verified'))}  ${origin ?? ''} ${shows === null ? '' : brokenTexts[shows]}`
        : safe`${bold(red('✗ SHOWS NOTHING'))}  ${meaningOf(code ?? undefined)}`,
      safe`  shows  ${detail}`,
      ...(source === null ? [] : [safe`  trust  ${source.trust.origin} (${source.from})`]),
    ]);
  } else {
    const shown = { ...verdict, trustFrom: source?.from ?? null };
    await out.one(shown, plainView(['verified', 'code', 'origin', 'detail']));
  }
  return out.verdict;
};
