/**
 * Filters JSON with jq, which the package jq-web has as WebAssembly; it loads on first use (about 100 ms). Not jq-wasm:
 * its time grows with the square of the input, and 400 kB took 36 s. Tested by `test/cli/terminal/shape.test.ts`.
 */
import { createRequire } from 'node:module';
import { usage } from '../program/exit.ts';
import { Safe } from './safe.ts';

interface Jq {
  /** Returns the text that jq prints; undefined for none. Throws an Error with `stderr` if jq fails. */
  raw(json: string, filter: string, flags: readonly string[]): string | undefined;
}

async function filter(text: string, expression: string): Promise<string> {
  // not import(): the module is a promise, which an import would turn into an object that cannot be awaited
  const { raw } = await (createRequire(import.meta.url)('jq-web') as Promise<Jq>);
  try {
    return raw(text, expression, ['-c']) ?? '';
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : String(cause);
    const [first = said] = said.trim().split('\n');
    const why = first.replace(/^jq: error(?: \(at [^)]*\))?: /, '').replace(/ at <top-level>,.*$/, '');
    throw usage(`--jq: ${why}`, 'see https://jqlang.org/manual');
  }
}

/** Errors: exit 2 if jq cannot compile the expression. A command checks it before it does anything. */
export async function checkFilter(expression: string): Promise<void> {
  await filter('', expression); // without input, jq compiles and runs nothing
}

/** Returns each result on a line of its own: text as it is, other values as JSON. Errors: exit 2 if jq fails. */
export async function filtered(value: unknown, expression: string): Promise<Safe[]> {
  const text = await filter(JSON.stringify(value), expression);
  if (text === '') return [];
  return text.split('\n').map((line) => {
    const result: unknown = JSON.parse(line);
    return typeof result === 'string' ? Safe.clean(result) : Safe.json(result);
  });
}
