/**
 * What the result of a tool says of the end of its call. Programs spell it differently: a flag, an exit code as a member,
 * or an exit code in the first lines of a text. Only the result's own head counts: a file that a tool printed may hold the
 * same words. Tested by `test/core/intake/ending.test.ts`.
 */
import type { Ending } from '../../contract/endings.ts';
import { isSource, textOf, type Source } from './run.ts';
import { parseLoose } from './source.ts';

const exitNames = [
  'exit_code',
  'exitCode',
  'returncode',
  'return_code',
  'returnCode',
  'exit_status',
  'exitStatus',
];
/** Members that hold the exit code of a result, beside its output or with it. */
const holders = ['metadata', 'outcome', 'output', 'result'];
/** Longer texts are content: no program puts its own words around them as JSON. */
const mostJsonChars = 1_000_000;

export interface EndingSource {
  /** What the program says of the call beside its result. */
  readonly stated?: Ending | undefined;
  /** The result, and what the program kept of it: the first that says something counts. */
  readonly results: readonly unknown[];
  /** The record that has the result as one of its members: what it says itself counts, whatever is `stated`. */
  readonly record?: Source;
  /** The ending of a call of which nothing is said: `ok` where the source would name an error. */
  readonly silent?: 'ok' | 'unknown';
}

/**
 * Returns how a call ended. A result may say it more exactly than the program: a failure that was a timeout. A call that the
 * program says ended well may print an error of something else, so only its exit code and its flags count then. The tool
 * controls the results. Cost: once over a JSON text.
 */
export function endingOf({ stated, results, record = {}, silent = 'unknown' }: EndingSource): Ending {
  const judge = stated === undefined ? saidByResult : saidByProgram;
  const inResults = results.map((result) => endingIn(result, judge));
  const all = [saidByResult(record), ...inResults].filter((each) => each !== undefined);
  // a result may be about something else that failed: then nobody knows
  const said = all.filter((each) => each !== 'unknown');
  const worst = said.find((each) => each !== 'ok' && each !== 'error') ?? said.find((each) => each !== 'ok');
  if (stated !== undefined && stated !== 'ok' && stated !== 'error') return stated;
  if (worst !== undefined && (worst !== 'error' || stated !== 'error')) return worst;
  return stated ?? said[0] ?? all[0] ?? silent;
}

/** Returns whether a result says, by a flag or an exit code, that the call did not end well. */
export const saysFailure = (result: unknown): boolean =>
  !['ok', undefined].includes(endingIn(result, saidByProgram));

type Judge = (value: Source) => Ending | undefined;

function endingIn(result: unknown, judge: Judge): Ending | undefined {
  if (typeof result === 'string') return endingOfText(result, judge);
  if (isSource(result)) return judge(result);
  if (!Array.isArray(result)) return undefined;
  const said = result
    .filter(isSource)
    .map((part) => endingOfPart(part, judge))
    .filter((each) => each !== undefined);
  return said.find((each) => each !== 'ok') ?? said[0];
}

/** By flags and exit codes, which programs write. */
function saidByProgram(result: Source): Ending | undefined {
  const isSet = (names: readonly string[], value: boolean) =>
    names.some((name) => isFlag(result[name], value));
  const inner = holders.map((name) => result[name]).filter(isSource);
  const isTimeout =
    isSet(['timed_out', 'timedOut'], true) ||
    inner.some((each) => each['type'] === 'timeout') ||
    saysTimeout(textOf(result['output']) ?? '');
  if (isTimeout) return 'timed_out';
  if (isSet(['interrupted'], true)) return 'interrupted';
  if (isSet(['is_error', 'isError'], true)) return 'error';
  const codes = [result, ...inner].flatMap((each) => exitNames.map((name) => codeOf(each[name])));
  if (codes.some((code) => code !== undefined && code !== 0)) return 'error';
  return codes.includes(0) || isSet(['is_error', 'isError'], false) ? 'ok' : undefined;
}

/** A flag, which some programs write as a text or a number. */
const isFlag = (flag: unknown, value: boolean): boolean =>
  flag === value || flag === Number(value) || isWord(flag, value);

const isWord = (text: unknown, value: boolean): boolean =>
  typeof text === 'string' && text.toLowerCase() === String(value);

/** Also by `success`, an `error`, or a status of HTTP or in a word, which tools write. */
function saidByResult(result: Source): Ending | undefined {
  const said = saidByProgram(result);
  if (said !== undefined && said !== 'ok') return said;
  const isSaid = (value: boolean) =>
    ['success', 'ok'].some((name) => result[name] === value || isWord(result[name], value));
  const statuses = ['status', 'statusCode', 'status_code'].map((name) => result[name]);
  if (isSaid(false) || isError(result['error']) || statuses.some((each) => isStatus(each, 400, 600)))
    return 'error';
  const word = (textOf(result['status']) ?? '').toLowerCase();
  if (word === 'error') return 'error';
  // of the call, or of what it is about, such as a payment
  if (/^fail(?:ed|ure)?$/.test(word)) return 'unknown';
  return isSaid(true) || statuses.some((each) => isStatus(each, 200, 300)) ? 'ok' : said;
}

/** A number is a measure. */
const isError = (error: unknown): boolean =>
  error === true ||
  (textOf(error) !== undefined && !isWord(error, false)) ||
  (isSource(error) && Object.keys(error).length > 0);

const isStatus = (status: unknown, from: number, below: number): boolean => {
  const code = codeOf(status);
  return code !== undefined && code >= from && code < below;
};

/** A part of a list: a text, a JSON value, or the output of one command. */
function endingOfPart(part: Source, judge: Judge): Ending | undefined {
  const said = [
    endingOfText(textOf(part['text']) ?? '', judge),
    isSource(part['json']) ? judge(part['json']) : undefined,
    saidByProgram(part),
  ];
  return said.find((each) => each !== undefined && each !== 'ok') ?? said.find((each) => each !== undefined);
}

function codeOf(code: unknown): number | undefined {
  if (typeof code === 'number') return code;
  return typeof code === 'string' && /^\s*[+-]?\d+(?:\.0+)?\s*$/.test(code) ? Number(code) : undefined;
}

function endingOfText(text: string, judge: Judge): Ending | undefined {
  if (/^\s*\{/.test(text) && text.length <= mostJsonChars) {
    try {
      const value = parseLoose(text);
      return isSource(value) ? judge(value) : undefined;
    } catch {
      return undefined;
    }
  }
  if (saysTimeout(text)) return 'timed_out';
  const code = exitCodeIn(text);
  return code === undefined ? undefined : code === 0 ? 'ok' : 'error';
}

/** The first line of a result that a program wrote after a timeout. */
const timeoutLine =
  /^(?:Error: )?(?:(?:Command|Tool call|Request|Execution) timed out\b|EXECUTION TIMED OUT)/i;
const saysTimeout = (text: string): boolean => timeoutLine.test(text.trimStart().slice(0, headChars));
const exitLine = /^(?:Error: )?(?:Exit code:?|Process exited with code) (-?\d+)\s*$/im;
const headChars = 2000;

/**
 * Returns the exit code in the head of a text: its first line, or the lines above `Output:` as Codex writes them; undefined
 * if it has none.
 */
export function exitCodeIn(text: string): number | undefined {
  const head = text.trimStart().slice(0, headChars);
  const tagged = /^<returncode>(-?\d+)<\/returncode>/.exec(head);
  const output = /^Output:/m.exec(head);
  const found =
    tagged ??
    exitLine.exec(output === null ? (/^[^\n]*/.exec(head)?.[0] ?? '') : head.slice(0, output.index));
  return found === null ? undefined : Number(found[1]);
}

/** The last lines of a command's result by Gemini CLI, which writes no code of 0, and by Copilot CLI. */
const exitTails = [
  /^Exit Code: (-?\d+)(?:\n(?:Signal|Background PIDs|Process Group PGID): .*)*\s*(?:<\/untrusted_context>)?\s*(?![^])/m,
  /^<exited with exit code (-?\d+)>\s*(?![^])/m,
];

/** The exit code that a program wrote below the output of a command; undefined if it wrote none. */
export function exitCodeBelow(text: string): number | undefined {
  const tail = text.slice(-headChars);
  const found = exitTails.map((each) => each.exec(tail)?.[1]).find((code) => code !== undefined);
  return found === undefined ? undefined : Number(found);
}
