/**
 * Builds the library, which programs import: `gov` and `gov/verify`, once for Node and once for browsers, workers and
 * edge runtimes. The second build has no module of Node: `src/client/web/` replaces node:crypto, node:zlib, `Buffer` and
 * the files of `src/client/` that need Node. Both entries of a build share their chunks, so that an error has one class.
 * Tested by `test/package.test.ts` and `test/client/web/`.
 */
import { join } from 'node:path';
import { type Plugin, rolldown, type RolldownOptions } from 'rolldown';
import { limits } from '../src/contract/limits.ts';
import { frozenData } from './frozen.ts';
import { failOnWarnings } from './warnings.ts';

/** Source of each entry, by the name of its file. */
const entries = { client: 'src/client/index.ts', verify: 'src/client/verify.ts' } as const;

/** Files that need Node, with the files that replace them elsewhere. */
const replaced: Readonly<Record<string, string>> = {
  'src/client/sending/at-exit.ts': 'src/client/web/at-exit.ts',
  'src/client/sending/disk.ts': 'src/client/web/disk.ts',
  'src/client/namespaces/sqlite.ts': 'src/client/web/sqlite.ts',
  'src/client/runtime.ts': 'src/client/web/runtime.ts',
  'src/client/tail.ts': 'src/client/web/tail.ts',
  'src/client/transport.ts': 'src/client/web/transport.ts',
};

export interface LibraryOptions {
  readonly project: string;
  readonly folder: string;
  readonly external: readonly string[];
  readonly output: Readonly<Record<string, unknown>>;
}

/** Source of each entry of the library, for its declarations. */
export const librarySources = Object.values(entries);

/** Writes both builds to a folder. Returns the paths of all their modules. */
export async function library(options: LibraryOptions): Promise<string[]> {
  const node = await bundle('node', options);
  return [...node, ...(await bundle('web', options))];
}

async function bundle(
  runtime: 'node' | 'web',
  { project, folder, external, output }: LibraryOptions,
): Promise<string[]> {
  const isWeb = runtime === 'web';
  const suffix = isWeb ? '-web' : '';
  const names = Object.entries(entries).map(([name, source]) => [`${name}${suffix}`, source]);
  const web = webBuild(project);
  const bundler = await rolldown({
    cwd: project,
    input: Object.fromEntries(names),
    preserveEntrySignatures: 'exports-only',
    external: [...external],
    plugins: [...(isWeb ? web.plugins : []), await frozenData(project, { beside: false })],
    ...(isWeb ? web.options : { platform: 'node', transform: { target: 'node24' } }),
    ...failOnWarnings(`library for ${runtime}`),
  });
  const result = await bundler.write({
    dir: folder,
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: `library${suffix}-[name].js`,
    ...output,
    // browsers download it as it is
    ...(isWeb ? { minify: true } : {}),
  });
  await bundler.close();
  return result.output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}

/** How code for browsers is built: without any module of Node; also the console and the verify page. */
export const webBuild = (
  project: string,
): {
  readonly plugins: readonly Plugin[];
  readonly options: Pick<RolldownOptions, 'platform' | 'transform'>;
} => ({
  plugins: [standIns(project), limitNumbers],
  options: {
    platform: 'browser',
    transform: {
      target: 'es2024',
      define: { 'process.env.NODE_ENV': '"production"' },
      inject: { Buffer: [join(project, 'src/client/web/buffer.ts'), 'Buffer'] },
    },
  },
});

/** Signatures are files of their own: a client that verifies nothing need not load curves. */
function cryptoFor(importer: string): string {
  if (importer.includes('/src/core/note/')) return 'src/client/web/signatures.ts';
  if (importer.includes('/src/core/approvals/')) return 'src/client/web/approval-crypto.ts';
  return 'src/client/web/crypto.ts';
}

/** Resolves each file that needs Node to its replacement. Another module of Node is an error of the build. */
function standIns(project: string): Plugin {
  const byPath = new Map(
    Object.entries(replaced).map(([from, to]) => [join(project, from), join(project, to)]),
  );
  return {
    name: 'stand-ins',
    async resolveId(specifier, importer) {
      if (specifier === 'node:crypto') return join(project, cryptoFor(importer ?? ''));
      if (specifier === 'node:zlib') return join(project, 'src/client/web/zlib.ts');
      if (specifier.startsWith('node:'))
        throw new Error(
          `${importer}: expected no module of Node in the library for browsers, got ${specifier}`,
        );
      const found = await this.resolve(specifier, importer, { skipSelf: true });
      return found === null ? null : (byPath.get(found.id) ?? found);
    },
  };
}

/** Each limit as its number: one file downloads the limits that it uses, and not the list of all. */
const limitNumbers: Plugin = {
  name: 'limit-numbers',
  transform: {
    filter: { id: /\/src\/.*\.tsx?$/, code: /\blimits\.\w/ },
    handler(code) {
      const known: ReadonlyMap<string, unknown> = new Map(Object.entries(limits));
      return code.replaceAll(/\blimits\.([a-z]\w*)\b/gi, (all, name) => {
        const value = known.get(name);
        return typeof value === 'number' ? String(value) : all;
      });
    },
  },
};
