/**
 * Builds dist/ from the sources with rolldown: `node scripts/build.ts` (Node >= 24, no other step before it).
 *
 *   gov.cjs       first file of the command line: version, Node check, compile cache   src/cli/entry.ts
 *   main.cjs      the command line; what it loads by `import()` stays in files apart   src/cli/main.ts
 *   worker.js     the thread that computes beside the server                           src/host/process/worker.ts
 *   writer.cjs    the thread that writes for the server                                src/store/sqlite/write/thread.ts
 *   client.js     the client library; its declarations go to types/                    src/client/index.ts
 *   data-*.json   schemas of the contract and commands, parsed when asked for          scripts/frozen.ts
 *   NOTICE        licences of the packages that were bundled
 *
 * Packages named in `dependencies` are native and stay outside. The result is made beside dist/ and renamed, so
 * that a failed build leaves the former one. Proved by test/package.test.ts.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { type ChunkingContext, type CodeSplittingGroup, type Plugin, rolldown } from 'rolldown';
import { declarations } from './declarations.ts';
import { frozenData } from './frozen.ts';
import { notice } from './notice.ts';

interface Target {
  readonly source: string;
  readonly file: string;
  readonly isRequired: boolean;
}

const project = fileURLToPath(new URL('..', import.meta.url));
const output = join(project, 'dist');

/** CommonJS starts 5 ms quicker than an ES module, so the command line is built so; the library is an ES module. */
const client: Target = { source: 'src/client/index.ts', file: 'client.js', isRequired: false };
const commands: Target = { source: 'src/cli/main.ts', file: 'main.cjs', isRequired: true };
const targets: readonly Target[] = [
  { source: 'src/cli/entry.ts', file: 'gov.cjs', isRequired: true },
  commands,
  { source: 'src/host/process/worker.ts', file: 'worker.js', isRequired: false },
  { source: 'src/store/sqlite/write/thread.ts', file: 'writer.cjs', isRequired: false },
  client,
];

async function build(): Promise<void> {
  const present = targets.filter(({ source, file, isRequired }) => {
    const exists = existsSync(join(project, source));
    if (!exists && isRequired) throw new Error(`expected ${source} to make dist/${file} of, found none`);
    return exists;
  });
  const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  const temporary = join(project, `.dist-${process.pid}`);
  try {
    mkdirSync(temporary);
    const modules: string[] = [];
    for (const target of present)
      modules.push(...(await bundle(target, temporary, Object.keys(dependencies))));
    if (present.includes(client)) await declarations(project, client.source, temporary);
    writeFileSync(join(temporary, 'NOTICE'), notice(modules));
    rmSync(output, { recursive: true, force: true });
    renameSync(temporary, output);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Writes one target with its chunks; the paths of all modules that went into it. */
async function bundle(target: Target, folder: string, external: string[]): Promise<string[]> {
  const { source, file } = target;
  const [name = '', extension] = file.split('.');
  const bundler = await rolldown({
    cwd: project,
    input: { [name]: source },
    platform: 'node',
    preserveEntrySignatures: target === commands ? 'allow-extension' : 'exports-only',
    external,
    plugins: [references(), await frozenData(project, { beside: target !== client }), sparing],
    transform: { target: 'node24', define: { 'process.env.NODE_ENV': '"production"' } },
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(`${source}: ${log.message}`);
    },
  });
  const result = await bundler.write({
    dir: folder,
    format: extension === 'cjs' ? 'cjs' : 'es',
    entryFileNames: file,
    codeSplitting: target === commands ? { includeDependenciesRecursively: false, groups } : true,
    chunkFileNames: `${name}-[name].${extension}`,
    // require() instead of import(): it does not start the ES module loader.
    dynamicImportInCjs: false,
    // Shorter code loads quicker; names and lines stay, for stack traces and for whoever reads what runs.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
    comments: false,
  });
  await bundler.close();
  return result.output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}

/**
 * What every command loads goes into its first file, and what a proof is verified with into another: rolldown by itself
 * makes a file of whatever the same commands load, which would be a dozen and 30 of them. All else stays as it does that.
 */
const groups: CodeSplittingGroup[] = [
  { name: 'all', tags: ['$initial'], priority: 1 },
  {
    name: (id, context) =>
      id.startsWith(join(project, 'src/core/')) && verifiers(context).has(id) ? 'verifiers' : null,
    debugName: 'verifiers',
  },
];

const reached = new Set<string>();
/** The modules that `gov proofs verify` has loaded once it runs. */
function verifiers(context: ChunkingContext): ReadonlySet<string> {
  const reach = (id: string): void => {
    if (reached.has(id)) return;
    reached.add(id);
    context.getModuleInfo(id)?.importedIds.forEach(reach);
  };
  reach(join(project, 'src/cli/commands/proofs/verify.ts'));
  return reached;
}

/** Where a bundle loads another target, by `import()` or `new URL('….ts', import.meta.url)`, names the built file. */
function references(): Plugin {
  const builtFile = (specifier: string, importer: string): string | undefined => {
    const path = resolve(dirname(importer), specifier);
    const target = targets.find(({ source }) => join(project, source) === path);
    return target && `./${target.file}`;
  };
  return {
    name: 'references',
    resolveId(specifier, importer) {
      if (importer === undefined || !specifier.startsWith('.')) return null;
      const id = builtFile(specifier, importer);
      return id === undefined ? null : { id, external: true };
    },
    transform(code, id) {
      if (id.includes('node_modules')) return null;
      return code.replace(
        /new URL\(\s*(['"])(\.[^'"]+\.ts)\1,\s*import\.meta\.url\s*,?\)/g,
        (_, _quote, specifier) => {
          const built = builtFile(specifier, id);
          if (built === undefined) throw new Error(`${id}: expected ${specifier} among the build's targets`);
          return `new URL('${built}', import.meta.url)`;
        },
      );
    },
  };
}

/**
 * Modules of Node that a package loads for what gov never does, or that hold what is a global anyway, and the code in
 * their place: each costs every start milliseconds.
 */
const spared: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  commander: {
    // for subcommands that are programs of their own
    'node:child_process': 'export default {};',
    'node:fs': 'export default {};',
    'node:path': 'export default {};',
    'node:process': 'export default process;',
  },
  fastify: {
    // for servers of HTTP/2
    'node:http2': 'export default {};',
    // for routes with schemas, and tests without a socket
    '@fastify/ajv-compiler': 'export default {};',
    '@fastify/fast-json-stringify-compiler': 'export default {};',
    'light-my-request': 'export default {};',
    'node:perf_hooks': 'export const { performance } = globalThis;',
  },
};

const sparing: Plugin = {
  name: 'sparing',
  resolveId: {
    filter: { id: /^(?:node:|@fastify\/|light-my-request$)/ },
    handler: (id, importer = '') => {
      const name = /.*\/node_modules\/([^/]+)/.exec(importer)?.[1] ?? '';
      return spared[name]?.[id] === undefined ? null : `\0spared:${name}:${id}`;
    },
  },
  load: {
    filter: { id: /^\0spared:/ },
    handler: (id) => {
      const [, name = '', ...module] = id.split(':');
      return spared[name]?.[module.join(':')];
    },
  },
};

try {
  await build();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.error(`build: ${process.stderr.isTTY ? message : stripVTControlCharacters(message)}`);
  process.exitCode = 1;
}
