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
export function saysFailure(result: unknown): boolean {
  if (typeof result === 'string') return saysInText(result);
  if (Array.isArray(result)) return result.some((part) => isSource(part) && saysInPart(part));
  return isSource(result) && saysInObject(result);
}

function saysInObject(result: Source): boolean {
  if (flags.some((name) => result[name] === true)) return true;
  if (exitNames.some((name) => isFailure(result[name]))) return true;
  const inner = holders.map((name) => result[name]).filter(isSource);
  return inner.some((each) => exitNames.some((name) => isFailure(each[name])) || each['type'] === 'timeout');
}

/** A part of a list: a text, a JSON value, or the output of one command. */
const saysInPart = (part: Source): boolean =>
  saysInText(textOf(part['text']) ?? '') ||
  (isSource(part['json']) && saysInObject(part['json'])) ||
  saysInObject(part);

const isFailure = (code: unknown): boolean =>
  (typeof code === 'number' && code !== 0) ||
  (typeof code === 'string' && /^-?\d+$/.test(code) && Number(code) !== 0);

function saysInText(text: string): boolean {
  if (/^\s*\{/.test(text) && text.length <= mostJsonChars) {
    try {
      const value = parseLoose(text);
      return isSource(value) && saysInObject(value);
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
