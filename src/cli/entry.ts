/**
 * The first file that Node runs for `gov`. It answers the version before it loads anything else, rejects an old Node,
 * turns on V8's compile cache in a folder that only this user can write, and loads the command line; for a hook, which runs
 * before each call of an agent, only its own code.
 * `scripts/build.ts` makes dist/gov.cjs of it: a CommonJS entry starts 5 ms faster than an ES module.
 * Tested by `test/launch.test.ts`.
 */
import { lstatSync, writeSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { resolve } from 'node:path';
import { versionLine } from '../client/version.ts';
import { makeFolder } from '../files/make-folder.ts';

const OLDEST_NODE = 24;

function start(argv: readonly string[]): void {
  const first = argv[0];
  if (argv.length === 1 && (first === '--version' || first === '-V')) {
    // Not process.stdout: creating that stream costs more than the rest of this function.
    printVersion();
    return;
  }
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    const found = `${process.version} (${process.execPath})`;
    const install = resolve(process.argv[1] ?? '', '../../install.sh');
    writeSync(
      2,
      `gov: expected Node >= ${OLDEST_NODE}, got ${found}. Run ${install}, or set GOV_NODE to a newer node.\n`,
    );
    process.exitCode = 1;
    return;
  }
  const folder = cacheFolder();
  if (folder !== undefined) enableCompileCache(folder);
  void (first === 'hook' ? runHook(argv) : runMain(argv));
}

/** A closed pipe is not an error; a full disk is. */
function printVersion(): void {
  try {
    writeSync(1, `${versionLine}\n`);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'EPIPE') return;
    const why = code === 'ENOSPC' ? 'the disk is full' : String(cause);
    writeSync(2, `error: standard output: ${why}\n`);
    process.exitCode = 1;
  }
}

const runMain = async (argv: readonly string[]): Promise<void> => (await import('./main.ts')).main(argv);

async function runHook(argv: readonly string[]): Promise<void> {
  const { hookEntry } = await import('./agents/hook-entry.ts');
  if (!(await hookEntry(argv.slice(1)))) await runMain(argv);
}

/**
 * The folder for compiled code, made with mode 0700; undefined if no folder is safe. A folder that others can write, or
 * a link, would let them choose the code that we run. Node's default below /tmp has both problems.
 */
function cacheFolder(): string | undefined {
  const { XDG_CACHE_HOME: cache, HOME: home, NODE_COMPILE_CACHE: chosen } = process.env;
  const user = process.getuid?.();
  if (user === undefined || chosen !== undefined) return undefined;
  const base = cache?.startsWith('/') ? cache : home?.startsWith('/') ? `${home}/.cache` : undefined;
  if (base === undefined) return undefined;
  try {
    const ours = `${base}/gov`;
    const folder = `${ours}/v8`;
    makeFolder(folder, 0o700);
    return isPrivate(ours, user) && isPrivate(folder, user) ? folder : undefined;
  } catch {
    return undefined; // The disk is full or read-only. The command works without the cache.
  }
}

function isPrivate(folder: string, user: number): boolean {
  const found = lstatSync(folder);
  return found.isDirectory() && found.uid === user && (found.mode & 0o022) === 0;
}

start(process.argv.slice(2));
