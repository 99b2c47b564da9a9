/** How checks of `gov service doctor` are told to people. */
import { safe, type Safe, type Styles } from './safe.ts';

interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly advice: string | null;
}

/** A line for each check, and one below for what to do. */
export function told(checks: readonly Check[], { green, red, yellow, dim }: Styles): Safe[] {
  const width = Math.max(0, ...checks.map(({ name }) => name.length));
  const marks = { ok: green('✓'), warn: yellow('!'), fail: red('✗') } as const;
  return checks.flatMap(({ name, status, detail, advice }) => [
    safe`${marks[status]} ${name.padEnd(width)}  ${detail}`,
    ...(advice === null ? [] : [safe`  ${' '.repeat(width)}  ${dim(safe`→ ${advice}`)}`]),
  ]);
}
