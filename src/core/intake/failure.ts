/**
 * Whether the result of a tool says that the call failed. Programs spell it differently: a flag, an exit code as a member,
 * or an exit code in the first lines of a text. Only the result's own head counts: a file that a tool printed may hold the
 * same words. Tested by `test/core/intake/failure.test.ts`.
 */
import { isSource, textOf, type Source } from './run.ts';
import { parseLoose } from './source.ts';

const exitNames = ['exit_code', 'exitCode', 'returncode', 'return_code', 'returnCode', 'exit_status'];
const flags = ['is_error', 'isError', 'timed_out', 'timedOut', 'interrupted'];
/** Members that hold the exit code of a result beside its output. */
const holders = ['metadata', 'outcome'];
/** Longer texts are content: no program puts its own words around them as JSON. */
const mostJsonChars = 1_000_000;

/** Returns whether a result says that it failed. The tool controls its content. Cost: once over a JSON text. */
export const saysFailure = (result: unknown): boolean => says(result, saysInObject);

/**
 * Returns whether a result says that it failed, also by `success: false`, an `error`, or a status of HTTP. For recordings
 * that have no word of their own about the outcome: a call that succeeded may print an error of something else.
 */
export const saysError = (result: unknown): boolean =>
  says(result, (value) => saysInObject(value) || saysNo(value));

type Judge = (value: Source) => boolean;

function says(result: unknown, judge: Judge): boolean {
  if (typeof result === 'string') return saysInText(result, judge);
  if (Array.isArray(result)) return result.some((part) => isSource(part) && saysInPart(part, judge));
  return isSource(result) && judge(result);
}

const saysNo = (result: Source): boolean =>
  ['success', 'ok'].some((name) => result[name] === false) ||
  isError(result['error']) ||
  ['status', 'statusCode', 'status_code'].some((name) => isHttpError(result[name]));

/** A number is a measure. */
const isError = (error: unknown): boolean =>
  error === true || textOf(error) !== undefined || (isSource(error) && Object.keys(error).length > 0);

const isHttpError = (status: unknown): boolean => typeof status === 'number' && status >= 400 && status < 600;

function saysInObject(result: Source): boolean {
  if (flags.some((name) => result[name] === true)) return true;
  if (exitNames.some((name) => isFailure(result[name]))) return true;
  const inner = holders.map((name) => result[name]).filter(isSource);
  return inner.some((each) => exitNames.some((name) => isFailure(each[name])) || each['type'] === 'timeout');
}

/** A part of a list: a text, a JSON value, or the output of one command. */
const saysInPart = (part: Source, judge: Judge): boolean =>
  saysInText(textOf(part['text']) ?? '', judge) ||
  (isSource(part['json']) && judge(part['json'])) ||
  saysInObject(part);

const isFailure = (code: unknown): boolean =>
  (typeof code === 'number' && code !== 0) ||
  (typeof code === 'string' && /^-?\d+$/.test(code) && Number(code) !== 0);

function saysInText(text: string, judge: Judge): boolean {
  if (/^\s*\{/.test(text) && text.length <= mostJsonChars) {
    try {
      const value = parseLoose(text);
      return isSource(value) && judge(value);
    } catch {
      return false;
    }
  }
  const code = exitCodeIn(text);
  return code !== undefined && code !== 0;
}

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
