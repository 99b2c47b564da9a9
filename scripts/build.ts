/**
 * Builds dist/ from the sources with rolldown: `node scripts/build.ts` (Node >= 24, no other step before it).
 *
 *   gov.cjs       first file of the command line: version, Node check, compile cache   src/cli/entry.ts
 *   hook.cjs      `gov hook`, which loads little                                       src/cli/agents/hook-entry.ts
 *   main.cjs      the command line; modules behind `import()` stay in files apart      src/cli/main.ts
 *   keychain.cjs  the process that talks to the keychain of the system                 src/cli/keychain/program.ts
 *   screens.js    the screens of the command line, with ink and react                  src/cli/screens/open.ts
 *   pdfkit.cjs    sets reports, for main.cjs and worker.js                             src/core/reports/pdf/pdfkit.ts
 *   worker.js     the thread that computes beside the server                           src/host/process/worker.ts
 *   writer.cjs    the thread that writes for the server                                src/store/sqlite/write/thread.ts
 *   client.js     the library, and client-web.js for browsers and edge runtimes        src/client/index.ts
 *   verify.js     its verifier, and verify-web.js                                      src/client/verify.ts
 *   console/      the page that plane and service serve at /console                    scripts/console.ts
 *   verify.html   the verify page, in one file                                         scripts/verify-page.ts
 *   types/        declarations of the library                                          scripts/declarations.ts
 *   data-*.json   schemas of the contract and commands, parsed on first use            scripts/frozen.ts
 *   *.wasm        decoders and encoder of pictures                                     @jsquash
 *   gov-watch-*   reports what starts in a sandbox; committed as built               native/watch/
 *   fonts/        the fonts of reports, and their licence                              assets/fonts/
 *   data/         the colour profile that pdfkit embeds in reports                     pdfkit
 *   NOTICE        licences of the bundled packages
 *
 * Packages in `dependencies` are native or WebAssembly, and stay outside. The build writes to a folder beside dist/ and renames it, so
 * that a failed build keeps the old one. Tested by `test/package.test.ts`.
 */
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { type Plugin, rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { buildConsole } from './console.ts';
import { declarations } from './declarations.ts';
import { frozenData } from './frozen.ts';
import { library, librarySources } from './library.ts';
import { notice } from './notice.ts';
import { buildVerifyPage } from './verify-page.ts';
import { buildVersion } from './version.ts';
import { failOnWarnings } from './warnings.ts';

interface Target {
  readonly source: string;
  readonly file: string;
  readonly isRequired: boolean;
  /** Most of it is code of packages, whose lines nobody reads: it is written without whitespace, with short names. */
  readonly isPacked?: boolean;
}

const project = fileURLToPath(new URL('..', import.meta.url));
const output = join(project, 'dist');

/** ink has top-level await, so it needs an ES module, which CommonJS loads by a real import(). */
const screens = 'src/cli/screens/open.ts';

/** The command line is CommonJS, which starts 5 ms faster than an ES module. `library.ts` builds the library. */
const targets: readonly Target[] = [
  { source: 'src/cli/entry.ts', file: 'gov.cjs', isRequired: true },
  { source: 'src/cli/agents/hook-entry.ts', file: 'hook.cjs', isRequired: false },
  { source: 'src/cli/main.ts', file: 'main.cjs', isRequired: true },
  { source: 'src/cli/keychain/program.ts', file: 'keychain.cjs', isRequired: false },
  { source: screens, file: 'screens.js', isRequired: true, isPacked: true },
  { source: 'src/core/reports/pdf/pdfkit.ts', file: 'pdfkit.cjs', isRequired: false, isPacked: true },
  { source: 'src/host/process/worker.ts', file: 'worker.js', isRequired: false },
  { source: 'src/store/sqlite/write/thread.ts', file: 'writer.cjs', isRequired: false },
];

/** pdfkit reads it from beside its own file. */
const colorProfile = 'data/sRGB_IEC61966_2_1.icc';

/** Decoders and encoder of pictures, in WebAssembly; `src/host/pictures/codecs.ts` reads them. */
const codecs = [
  '@jsquash/png/codec/pkg/squoosh_png_bg.wasm',
  '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm',
  '@jsquash/webp/codec/dec/webp_dec.wasm',
];

/** Programs for Linux that `gov run --sandbox` starts. They are committed as built, with their hashes. */
const watches = ['gov-watch-x64', 'gov-watch-arm64'];

/** Shorter code loads faster; names and lines stay, for stack traces and readers. */
const written = {
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
  comments: false,
} as const;

const packed = {
  minify: { compress: true, mangle: true, codegen: { removeWhitespace: true } },
  comments: false,
} as const;

async function build(): Promise<void> {
  const present = targets.filter(({ source, file, isRequired }) => {
    const exists = existsSync(join(project, source));
    if (!exists && isRequired)
      throw new Error(`expected ${source} as the source of dist/${file}, found none`);
    return exists;
  });
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(project, 'package.json'), 'utf8'),
  );
  const temporary = join(project, `.dist-${process.pid}`);
  try {
    mkdirSync(temporary);
    const modules: string[] = [];
    cpSync(join(project, 'assets/fonts'), join(temporary, 'fonts'), { recursive: true });
    cpSync(join(project, 'node_modules/pdfkit/js', colorProfile), join(temporary, colorProfile));
    for (const codec of codecs) {
      const source = join(project, 'node_modules', codec);
      cpSync(source, join(temporary, basename(codec)));
      modules.push(source);
    }
    for (const watch of watches) cpSync(join(project, 'native/watch', watch), join(temporary, watch));
    const external = [...Object.keys(dependencies), ...Object.keys(optionalDependencies)];
    for (const target of present) modules.push(...(await bundle(target, temporary, external)));
    modules.push(...(await library({ project, folder: temporary, external, output: written })));
    modules.push(...(await buildConsole(project, temporary)));
    modules.push(...(await buildVerifyPage(project, temporary)));
    await declarations(project, librarySources, temporary);
    writeFileSync(join(temporary, 'NOTICE'), notice(modules));
    rmSync(output, { recursive: true, force: true });
    renameSync(temporary, output);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Writes one target with its chunks. Returns the paths of all its modules. */
async function bundle(target: Target, folder: string, external: string[]): Promise<string[]> {
  const { source, file } = target;
  const [name = '', extension] = file.split('.');
  const bundler = await rolldown({
    cwd: project,
    input: { [name]: source },
    platform: 'node',
    preserveEntrySignatures: 'exports-only',
    external,
    plugins: [
      references(),
      shortNames,
      realImport,
      devtools,
      commandFiles,
      await frozenData(project, { beside: true }),
    ],
    transform: {
      target: 'node24',
      define: { 'process.env.NODE_ENV': '"production"', GOV_BUILD: JSON.stringify(buildVersion(project)) },
    },
    ...failOnWarnings(source),
  });
  const result = await bundler.write({
    dir: folder,
    format: extension === 'cjs' ? 'cjs' : 'es',
    entryFileNames: file,
    chunkFileNames: `${name}-[name].${extension}`,
    // require() instead of import(), which would start the ES module loader
    dynamicImportInCjs: false,
    ...(target.isPacked === true ? packed : written),
  });
  await bundler.close();
  return result.output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}

/** Replaces references to another target, by `import()` or `new URL('….ts', import.meta.url)`, by the built file. */
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
      const fonts = code.replace(
        /new URL\(\s*(['"])(?:\.\.\/)+assets\/fonts\/([^'"]+)\1,\s*import\.meta\.url\s*,?\)/g,
        (_, _quote, name) => `new URL('./fonts/${name}', import.meta.url)`,
      );
      const places = fonts.replaceAll(
        /new URL\('(?:\.\.\/)+dist\/(console\/|verify\.html)', import\.meta\.url\)/g,
        (_, name) => `new URL('./${name}', import.meta.url)`,
      );
      const programs = places.replaceAll(
        /new URL\('(?:\.\.\/)+native\/watch\/([^']+)', import\.meta\.url\)/g,
        (_, name) => `new URL('./${name}', import.meta.url)`,
      );
      return programs.replace(
        /new URL\(\s*(['"])(\.[^'"]+\.ts)\1,\s*import\.meta\.url\s*,?\)/g,
        (_, _quote, specifier) => {
          const built = builtFile(specifier, id);
          if (built === undefined) throw new Error(`${id}: expected a target of the build, got ${specifier}`);
          return `new URL('${built}', import.meta.url)`;
        },
      );
    },
  };
}

/** Local names of packages become short, because nobody reads their lines: a tenth of the published package. */
const shortNames: Plugin = {
  name: 'short-names',
  transform: {
    filter: { id: /node_modules.*\.[cm]?js$/ },
    handler(code, id) {
      const options = { compress: true, mangle: true, codegen: { removeWhitespace: true } };
      const { code: short, errors } = minifySync(id, code, options);
      if (errors.length > 0) throw new Error(`${id}: ${String(errors[0])}`);
      return short;
    },
  },
};

/** require() of `screens.js` would fail, because that module has top-level await. */
const realImport: Plugin = {
  name: 'real-import',
  renderChunk(code, { fileName }) {
    if (!code.includes('./screens.js')) return null;
    const required =
      /Promise\.resolve\(\)\.then\(\(\) => [^;]*?require\((['"])\.\/screens\.js\1\)(?:, 1\))?\)/;
    const imported = code.replace(required, "import('./screens.js')");
    if (!imported.includes("import('./screens.js')"))
      throw new Error(`${fileName}: expected require() of ./screens.js`);
    return imported;
  },
};

/** ink loads React's devtools only if DEV is set; they are not published. */
const devtools: Plugin = {
  name: 'devtools',
  resolveId: (id) => (id === 'react-devtools-core' ? '\0devtools' : null),
  load: (id) => (id === '\0devtools' ? 'export default {};' : null),
};

/**
 * The sources load a command by a computed import() of its file. A bundle has no such files, so the import becomes a
 * look-up in a table of all of them: `files['./erase/run.ts']()`. Tested by `test/launch.test.ts`.
 */
const commandFiles: Plugin = {
  name: 'command-files',
  transform: {
    filter: { id: /\/src\/cli\/commands\/loaders\.ts$/ },
    handler(code, id) {
      const computed = 'import(`./${noun}/${file}.ts`)';
      if (!code.includes(computed)) throw new Error(`${id}: expected ${computed}`);
      const rows = globSync('*/*.ts', { cwd: dirname(id) }).map(
        (path) => `'./${path}': () => import('./${path}'),`,
      );
      const table = `const files = {\n${rows.sort().join('\n')}\n};`;
      return `${table}\n${code.replace(computed, () => 'files[`./${noun}/${file}.ts`]()')}`;
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
