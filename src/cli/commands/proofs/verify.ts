/**
 * `gov proofs verify`: asks the service about an id; verifies a bundle or an export here, without network or store. Exit 0
 * verified, 11 authentic but not compliant, 3 not verified, 2 no trusted key or unreadable, 5 unknown id. The exit code is set before any output, so that
 * a reader that closes the pipe cannot turn a no into a yes. Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { limits } from '../../../contract/limits.ts';
import { answerMediaType, verifyAnswer } from '../../../core/proofs/answer.ts';
import { explain, type Explanation } from '../../../core/proofs/bundle.ts';
import { FrameReader } from '../../../core/proofs/read-bundle.ts';
import { requireStrength, type DerivedLog } from '../../../core/proofs/strength.ts';
import { isUnread } from '../../../core/proofs/verdict.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { proofChecks } from '../../ci/proof.ts';
import { checkReports, reported } from '../../ci/report.ts';
import { exit, usage } from '../../program/exit.ts';
import { fileChunks } from '../../program/file-chunks.ts';
import { unreadable } from '../../program/flags.ts';
import { bytesReread, fileReread, isFile, spool, type RepeatableSource } from '../../terminal/spool.ts';
import { safe } from '../../terminal/safe.ts';
import type { proofsVerify as spec } from '../../specs/prove/proofs.ts';
import { trustFrom } from '../../context/trust.ts';
import { verdictHere, verdictOfService } from '../../runs/judge.ts';
import { printAnswer } from '../../trust/answer-verdict.ts';
import { withRecordings } from '../../runs/recording.ts';
import { derivedFrom } from '../../trust/derived.ts';
import { FoundHeads, SeenHeads, withHistory, hasMediaType } from '../../trust/history.ts';
import { exitOfVerdict, printVerdict } from '../../terminal/verdict.ts';
import type { VerdictFacts } from '../../terminal/verdict.ts';

/** The invocation with one of its proofs. */
type Call = Omit<Invocation<typeof spec>, 'args'> & {
  readonly args: { readonly proof: string };
  /** Null without trust. */
  readonly heads: SeenHeads | null;
  readonly derived: { readonly derived?: DerivedLog };
};

const proofId = /^prf_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

export const run: Run<typeof spec> = async (invocation) => {
  const { args, flags, session, out } = invocation;
  checkReports(invocation);
  const [first = '', ...others] = args.proof;
  if (others.length > 0 && flags.recording.length > 0)
    throw usage('--recording: expected one proof, got several');
  if (others.length > 0 && (flags.report.length > 0 || args.proof.includes('-')))
    throw usage('--report and standard input: expected one proof, got several');
  const source = trustFrom(flags, session);
  const heads = SeenHeads.ofSource(invocation, source, flags);
  const derived = await derivedFrom(invocation, flags, source);
  const codes: number[] = [];
  for (const proof of [first, ...others]) {
    if (codes.length > 0 && out.isHuman) await out.line(safe``);
    codes.push(await verifyOne({ ...invocation, args: { proof }, heads, derived }));
  }
  out.verdict =
    codes.find((code) => code === exit.checkFailed) ?? codes.find((code) => code !== exit.ok) ?? exit.ok;
  return out.verdict;
};

async function verifyOne(invocation: Call): Promise<number> {
  const { args, flags } = invocation;
  if (proofId.test(args.proof)) {
    if (!flags.offline) return verifyByService(invocation, { proofId: args.proof });
    throw usage(
      '--offline: expected a bundle, got a proof id',
      `gov proofs get ${shellWord(args.proof)} --bundle --out FILE`,
    );
  }
  const given = await openGiven(invocation);
  if (given.isExport) return verifyExportHere(invocation, given.chunks);
  const small = await readSmall(given.chunks);
  if ('bytes' in small) {
    if (hasMediaType(small.bytes, answerMediaType, limits.answerBytes))
      return verifyAnswerHere(invocation, small.bytes);
    const artifact = flags.offline ? null : artifactIn(small.bytes);
    if (artifact !== null) return verifyByService(invocation, artifact);
    return verifyHere(invocation, bytesReread(small.bytes));
  }
  const { io, signal } = invocation;
  const source = isFile(args.proof, io)
    ? fileReread(resolve(io.cwd, args.proof), signal)
    : await spool(small.chunks, limits.bundleBytes);
  return verifyHere(invocation, source).finally(source.close);
}

/** First bytes of an export's artifact. A bundle begins differently. */
const exportBegin = '{"schemaVersion":';

interface OpenedFile {
  readonly isExport: boolean;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Opens the file or standard input and reads only its beginning. Errors: exit 2 if that fails. */
async function openGiven({ args, io, signal, out }: Call): Promise<OpenedFile> {
  const source: AsyncIterable<Buffer | string> =
    args.proof === '-' ? addAbortSignal(signal, io.stdin) : fileChunks(resolve(io.cwd, args.proof), signal);
  const chunks = source[Symbol.asyncIterator]();
  const next = async (): Promise<Buffer | null> => {
    try {
      const { done, value } = await chunks.next();
      return done === true ? null : Buffer.from(value);
    } catch (cause) {
      throw signal.aborted ? cause : unreadable(args.proof, cause);
    }
  };
  let begin = Buffer.alloc(0);
  while (begin.length < limits.exportHeaderBytes) {
    const chunk = await next();
    if (chunk === null) break;
    begin = Buffer.concat([begin, chunk]);
  }
  const all = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield begin;
      for (let chunk = await next(); chunk !== null; chunk = await next()) yield chunk;
    } finally {
      await chunks.return?.();
    }
  };
  refuseCsv(begin.toString('latin1', 0, limits.exportHeaderBytes));
  await remarkOther(args.proof, begin, out);
  return { isExport: begin.toString('latin1', 0, exportBegin.length) === exportBegin, chunks: all() };
}

/** Errors: exit 2 for text that begins like an export of CSV, with names of columns. */
function refuseCsv(begin: string): void {
  if (!/^[A-Za-z]+(?:,[A-Za-z]+)+\r\n/.test(begin)) return;
  throw usage(
    'expected a proof or an export of JSON, got CSV, which proves nothing',
    'compare its SHA-256 with gov export get ID, or create another: gov export run --proof',
  );
}

/** Warns of a text that is plainly something else: the verdict of the format alone does not help. */
async function remarkOther(file: string, begin: Buffer, out: Call['out']): Promise<void> {
  const head = begin.toString('latin1', 0, 256).trimStart();
  if (head.startsWith('{')) return;
  const got = head.startsWith('<') ? 'HTML or XML' : head === '' ? 'an empty file' : 'other text';
  const name = file === '-' ? 'standard input' : file;
  await out.warn(
    safe`${name} is ${got}, not a proof bundle or an export; fetch a bundle: gov proofs get ID --bundle --out FILE`,
  );
}

/** Anything but a bundle is at most this large. */
const smallBytes = Math.max(limits.answerBytes, limits.bodyBytes);

/** Returns the bytes of something small; else the chunks with what was read of them. */
async function readSmall(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ readonly bytes: Uint8Array } | { readonly chunks: AsyncIterable<Uint8Array> }> {
  const read: Uint8Array[] = [];
  let size = 0;
  const rest = chunks[Symbol.asyncIterator]();
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    read.push(next.value);
    size += next.value.length;
    if (size > smallBytes) {
      const all = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
        yield* read.splice(0);
        for (let more = await rest.next(); more.done !== true; more = await rest.next()) yield more.value;
      };
      return { chunks: all() };
    }
  }
  return { bytes: Buffer.concat(read) };
}

async function verifyExportHere(invocation: Call, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const { args, out, session, flags } = invocation;
  refuseRecordings(flags, 'an export');
  const [{ verifyExport }, { exitOfExport, printExport }] = await Promise.all([
    import('../../../core/exports/verify.ts'),
    import('../../trust/export-verdict.ts'),
  ]);
  const source = trustFrom(flags, session);
  const seen = new FoundHeads();
  const judged = await verifyExport(chunks, source?.trust ?? null, {
    seen: seen.seen,
    ...invocation.derived,
  });
  const enough = requireStrength(judged, flags.requireCompleteness);
  const verdict = await withHistory(enough, invocation.heads, seen);
  out.verdict = exitOfExport(verdict);
  if (await reported(invocation, () => proofChecks(verdict, verdict.exportId ?? 'export', args.proof)))
    return out.verdict;
  return printExport(out, { source, explain: flags.explain, verdict });
}

/** Errors: exit 2 for recordings without the events to compare them with. */
function refuseRecordings({ recording }: Call['flags'], got: string): void {
  if (recording.length === 0) return;
  throw usage(
    `--recording: expected a bundle with events, got ${got}`,
    'gov proofs get PROOFID --events disclosed --out FILE',
  );
}

async function verifyAnswerHere(invocation: Call, bytes: Uint8Array): Promise<number> {
  const { out, session, flags } = invocation;
  refuseRecordings(flags, 'an answer');
  const source = trustFrom(flags, session);
  const seen = new FoundHeads();
  const judged = verifyAnswer(bytes, source?.trust ?? null, {
    seen: seen.seen,
    ...invocation.derived,
  });
  const enough = requireStrength(judged, flags.requireCompleteness);
  const verdict = await withHistory(enough, invocation.heads, seen);
  out.verdict = exitOf({ ...verdict, layers: [] });
  if (await reported(invocation, () => proofChecks(verdict, 'answer', invocation.args.proof)))
    return out.verdict;
  await printAnswer(out, { verdict, source });
  return out.verdict;
}

interface Artifact {
  readonly proofId: string;
}

/** Recognises a proof as `proofs get` prints it. It has no preimages, so only the service can verify it. */
function artifactIn(bytes: Uint8Array): Artifact | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (text.length > limits.bodyBytes || text.includes('"mediaType"')) return null;
  try {
    const value: unknown = JSON.parse(text.toString());
    const isBare =
      typeof value === 'object' && value !== null && !('mediaType' in value) && 'proofHash' in value;
    return isBare && 'proofId' in value && typeof value.proofId === 'string'
      ? { ...value, proofId: value.proofId }
      : null;
  } catch {
    // not JSON: the verifier reports it
    return null;
  }
}

async function verifyByService(invocation: Call, artifact: Artifact): Promise<number> {
  const { out, session, flags } = invocation;
  refuseRecordings(flags, 'the word of the service about a proof');
  if (flags.requireCompleteness !== undefined)
    throw usage(
      '--require-completeness: expected a file, since the service’s answer does not show whether entries are missing',
      `gov proofs get ${shellWord(artifact.proofId)} --bundle --out FILE`,
    );
  const shown = await verdictOfService(await session.client(), artifact);
  out.verdict = exitOfVerdict(shown);
  if (await reported(invocation, () => proofChecks(shown, artifact.proofId, undefined))) return out.verdict;
  await printVerdict(out, shown);
  if (out.isHuman) {
    await out.note(
      safe`this is the service’s word. To verify without it: gov proofs get ${shellWord(artifact.proofId)} --bundle --out FILE`,
    );
  }
  if (flags.explain) await out.warn(safe`--explain needs a bundle: the service’s response has no preimages`);
  return out.verdict;
}

async function verifyHere(invocation: Call, { read }: RepeatableSource): Promise<number> {
  const { out, session, flags, args } = invocation;
  const source = trustFrom(flags, session);
  const seen = new FoundHeads();
  const found = await verdictHere(read, source, { seen: seen.seen, ...invocation.derived });
  const enough = requireStrength(found, flags.requireCompleteness);
  const judged = await withRecordings(enough, { read, files: flags.recording, cwd: invocation.io.cwd });
  const verdict = await withHistory(judged, invocation.heads, seen);
  const file = args.proof === '-' ? 'FILE' : args.proof;
  const isRead = !isUnread(verdict.code);
  const explanations = flags.explain && isRead ? await explained(read, file) : undefined;
  const shown = { ...verdict, ...(explanations === undefined ? {} : { explanations }) };
  out.verdict = exitOf(shown);
  if (await reported(invocation, () => proofChecks(shown, shown.proofId ?? 'proof', args.proof)))
    return out.verdict;
  await printVerdict(out, shown);
  if (source === null && isRead) {
    await out.warn(
      safe`no key is trusted here: give --key VKEY or --trust FILE from a source that you trust, not from the bundle`,
    );
  }
  return out.verdict;
}

const exitOf = (shown: VerdictFacts): number =>
  shown.code === 'NO_TRUSTED_KEY' || isUnread(shown.code) ? exit.usage : exitOfVerdict(shown);

async function explained(read: RepeatableSource['read'], file: string): Promise<Explanation[]> {
  const frame = new FrameReader();
  for await (const chunk of read()) frame.push(chunk);
  return explain(frame.end()).map(({ name, preimage, hash, how }) => ({
    name,
    preimage,
    hash,
    how: how.replace('FILE', () => shellWord(file)),
  }));
}
