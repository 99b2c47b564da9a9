/**
 * The balance of one file: scans its bytes, compares what they hold with the runs that importers made of them, and states
 * the result as the event `gov.balance/1` has it. Tested by `test/core/intake/corpus.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { Scanner, type Broken, type RawFact } from '../balance/scan.ts';
import { fromEach, plus, type Balance, type Counts, type Remainder } from '../balance/statement.ts';
import { sha256Text } from '../hash.ts';
import { faultWords, weigh, type Fault, type BalanceResult, type WeighedRun } from './balance.ts';
import { decodeRequest } from './otlp/protobuf.ts';
import { importRuns, type ImportOptions } from './registry.ts';
import type { CopiedLines, ImportedRun } from './run.ts';
import { decodeText, documents, encodingOf, type BadDocument } from './source.ts';

export interface BalancedFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly runs: readonly WeighedRun[];
  /** Documents that were refused alone. */
  readonly refused: readonly BadDocument[];
}

export interface FileBalance {
  /** As if the remainder was allowed. `observed` is known when the events are compared with those of the service. */
  readonly balance: Balance;
  readonly faults: readonly Fault[];
  /** Set where the importer understands too little of the file: it is a recording of another program or version. */
  readonly strange?: Strange;
}

interface Strange {
  /** Percent of the bytes, rounded down to one digit. */
  readonly understood: number;
  readonly first: Remainder;
}

/** Cost: once over the bytes and once over the events. */
export function balanceFile(file: BalancedFile): FileBalance {
  const { name, runs, refused } = file;
  const text =
    encodingOf(file.bytes) === 'utf-8'
      ? file.bytes
      : Buffer.from(new TextDecoder(encodingOf(file.bytes)).decode(file.bytes));
  const { found, broken } = scanned(text);
  const bytesOf = ({ start, end }: Broken | RawFact): Buffer => text.subarray(start, end);
  const refusedLines = new Set(refused.map(({ line }) => line));
  const weighed = weigh({ found, runs, refusedLines, bytesOf });
  const unknown = runs.flatMap((run) => run.remainder);
  const unread = refused.map((bad) => refusedPart(bad, { text, broken }));
  const parts = [
    ...unknown,
    ...unread,
    ...broken
      .filter(({ line }) => !refusedLines.has(line))
      .map((each) => partOf(`line ${each.line}`, 'text that is no JSON', bytesOf(each))),
    ...weighed.faults.filter(({ why }) => why !== 'unknown').map((fault) => faultPart(fault, bytesOf)),
  ];
  const left = weighed.faults.filter(({ why }) => why === 'unread' || why === 'unknown');
  const leftOut = plus(
    weighed.refused,
    fromEach((kind) => left.filter((each) => each.kind === kind).length),
  );
  return {
    balance: {
      source: {
        name,
        sha256: hash('sha256', file.bytes, 'hex'),
        bytes: file.bytes.length,
        format: [...new Set(runs.map(({ format }) => format))].join(', '),
        accounted: accountedOf(bytesIn(parts), text.length),
      },
      ...statedOf(weighed, runs),
      remainder: parts.slice(0, limits.balanceParts).map(clipped),
      leftOut: { ...leftOut, parts: parts.length },
    },
    faults: weighed.faults,
    ...strangeOf([...unknown, ...unread.filter(({ why }) => !why.startsWith('invalid_json'))], {
      bytes: text.length,
      hasFaults: weighed.faults.length > 0,
    }),
  };
}

/** A line that is cut off says nothing about the program. */
function strangeOf(
  parts: readonly Remainder[],
  { bytes, hasFaults }: { readonly bytes: number; readonly hasFaults: boolean },
): { strange?: Strange } {
  const named = parts.find(({ why }) => why.startsWith('looks like '));
  const first = named ?? parts[0];
  const understood = accountedOf(bytesIn(parts), bytes) * 100;
  const isEnough = understood >= limits.balanceUnderstoodPercent && !(hasFaults && named !== undefined);
  if (first === undefined || isEnough) return {};
  return { strange: { understood: Math.floor(understood * 10) / 10, first } };
}

export interface ReadAgain extends FileBalance {
  readonly runs: readonly ImportedRun[];
}

/** Reads a file again and balances it, as an import does. Throws GovError for a file that no importer reads. */
export function balanceOfBytes(
  name: string,
  bytes: Buffer,
  options: Partial<Pick<ImportOptions, 'format' | 'sourceName' | 'runId' | 'runPrefix' | 'copied'>> = {},
): ReadAgain {
  const refused: BadDocument[] = [];
  const request = decodeRequest(bytes);
  const given =
    request === undefined ? documents(decodeText(bytes).text, name) : [{ value: request, line: 1 }];
  const runs = [
    ...importRuns(given, {
      format: 'auto',
      importedAt: 0,
      sourceName: name,
      ...options,
      refused: (bad) => refused.push(bad),
    }),
  ];
  return { ...balanceFile({ name, bytes, runs, refused }), runs };
}

/** Returns what the importer of a balance knew from another file; undefined: it needed none. */
export function copiedIn({ inherited }: Balance): CopiedLines | undefined {
  const found = inherited.find(({ through }) => through !== undefined);
  return found?.through === undefined ? undefined : { run: found.run, through: found.through };
}

/** Whether something in a file has the shape of a fact, or is a document that breaks off. */
export function holdsFacts(bytes: Buffer): boolean {
  const { found, broken } = scanned(bytes);
  return found.length + broken.length > 0;
}

/** `line`: the bytes are lines of a file, from this one on. */
export function scanned(
  bytes: Buffer,
  line?: number,
): {
  readonly found: readonly RawFact[];
  readonly broken: readonly Broken[];
} {
  const found: RawFact[] = [];
  const broken: Broken[] = [];
  const scanner = new Scanner(
    { found: (each) => found.push(each), broken: (each) => broken.push(each) },
    line,
  );
  scanner.feed(bytes);
  scanner.end();
  return { found, broken };
}

export function statedOf(
  { found, recorded, repeated, excepted, unseen }: BalanceResult,
  runs: readonly WeighedRun[],
): Pick<Balance, 'found' | 'recorded' | 'observed' | 'inherited' | 'repeated' | 'excepted' | 'unseen'> {
  const byException = (counts: ReadonlyMap<string, Counts>) =>
    // in an order that does not depend on that of the file
    [...counts]
      .map(([exception, each]) => ({ exception, ...each }))
      .toSorted((a, b) => (a.exception < b.exception ? -1 : 1));
  return {
    found,
    recorded,
    observed: {},
    inherited: runs.flatMap(({ inherited }) =>
      inherited.map(({ run, through, ...counts }) => ({
        run,
        ...fromEach((kind) => counts[kind]),
        ...(through === undefined ? {} : { through }),
      })),
    ),
    repeated,
    excepted: byException(excepted),
    unseen: byException(unseen),
  };
}

export const bytesIn = (parts: readonly Remainder[]): number =>
  parts.reduce((sum, part) => sum + part.bytes, 0);

/** The part of the bytes that is not left out, in four digits, rounded down: 1 is all. */
export function accountedOf(left: number, bytes: number): number {
  return left === 0 || bytes === 0 ? 1 : Math.max(0, Math.floor((1 - left / bytes) * 10_000) / 10_000);
}

/** An event has room for all of them. */
export const clipped = ({ where, why, ...part }: Remainder): Remainder => ({
  where: where.slice(0, limits.balancePartChars),
  why: why.slice(0, limits.balancePartChars),
  ...part,
});

const partOf = (where: string, why: string, bytes: Uint8Array): Remainder => ({
  where,
  why,
  bytes: bytes.length,
  hash: sha256Text(bytes),
});

function refusedPart(
  { line, reason }: BadDocument,
  { text, broken }: { readonly text: Buffer; readonly broken: readonly Broken[] },
): Remainder {
  const known = broken.find((each) => each.line === line);
  return partOf(
    `line ${line}`,
    reason,
    known === undefined ? lineOf(text, line) : text.subarray(known.start, known.end),
  );
}

function lineOf(text: Buffer, line: number): Buffer {
  let from = 0;
  for (let at = 1; at < line; at += 1) from = text.indexOf(0x0a, from) + 1;
  const end = text.indexOf(0x0a, from);
  return text.subarray(from, end === -1 ? text.length : end);
}

function faultPart(fault: Fault, bytesOf: (found: RawFact) => Uint8Array): Remainder {
  const { found } = fault;
  return partOf(
    found === undefined ? '' : placeOf(found),
    faultText(fault),
    found === undefined ? new Uint8Array() : bytesOf(found),
  );
}

export const placeOf = ({ document, line, pointer }: RawFact): string =>
  `line ${document}${pointer === '' ? '' : ` ${pointer}`}${line === document ? '' : ` (line ${line})`}`;

const nouns = { calls: 'a call', results: 'a result', prompts: 'a prompt', outputs: 'an output' } as const;

/** Returns what is wrong with a fact, as a part of a sentence. */
export function faultText({ kind, found, event, why }: Fault): string {
  const id = found?.id ?? event?.clientEventId;
  return `${nouns[kind]}${id === undefined ? '' : ` (${id.slice(0, limits.echoChars)})`}: the importer ${faultWords[why]}`;
}
