/**
 * `gov-watch`, which starts a program and reports each program that starts below it (`native/watch/`). It is there for Linux on
 * x86-64 and on arm64. Tested by `test/cli/sandbox/watch.test.ts`.
 */
import { fileURLToPath } from 'node:url';
import { isObject } from '../../core/json/object.ts';
import { readJson } from '../../core/json/parse.ts';

/** A program that started, as the kernel saw it. All of it is the program's own choice but the times and the numbers. */
export interface StartedProgram {
  /** Unix milliseconds. */
  readonly ms: number;
  readonly pid: number;
  readonly ppid: number;
  readonly path: string;
  readonly argv: readonly string[];
  /** Words are left out, or shortened. */
  readonly isCut: boolean;
}

const files: Readonly<Record<string, URL>> = {
  x64: new URL('../../../native/watch/gov-watch-x64', import.meta.url),
  arm64: new URL('../../../native/watch/gov-watch-arm64', import.meta.url),
};

/** The path of the program; null on systems that it is not built for. */
export function watchProgram(): string | null {
  const file = process.platform === 'linux' ? files[process.arch] : undefined;
  return file === undefined ? null : fileURLToPath(file);
}

/** Reads one line of its report. Throws for a line that it does not write. */
export function readStarted(line: string): StartedProgram {
  const value = readJson(line);
  if (isObject(value)) {
    const { ms, pid, ppid, path, argv, cut } = value;
    const words = Array.isArray(argv) ? argv.filter((word) => typeof word === 'string') : null;
    if (typeof ms === 'number' && typeof pid === 'number' && typeof ppid === 'number')
      if (typeof path === 'string' && words !== null)
        return { ms, pid, ppid, path, argv: words, isCut: cut === true };
  }
  throw new Error(`expected a line of gov-watch, got ${line.slice(0, 100)}`);
}
