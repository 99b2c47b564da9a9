/**
 * Builds the console, `src/console/`, into dist/console/: index.html, one stylesheet, the page's code and icon. Every file
 * but index.html is named by its content, so that browsers keep it.
 * Tested by `test/console/shell.test.ts`.
 */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { frozenData } from './frozen.ts';
import { webBuild } from './library.ts';
import { failOnWarnings } from './warnings.ts';

/** Writes the console to `folder`/console. Returns the paths of all its modules. */
export async function buildConsole(project: string, folder: string): Promise<string[]> {
  const source = join(project, 'src/console');
  const target = join(folder, 'console');
  mkdirSync(target);
  const { plugins, options } = webBuild(project);
  const bundler = await rolldown({
    cwd: project,
    input: { app: join(source, 'main.tsx') },
    ...options,
    tsconfig: join(source, 'tsconfig.json'),
    plugins: [...plugins, await frozenData(project, { beside: false })],
    ...failOnWarnings('console'),
  });
  const { output } = await bundler.write({
    dir: target,
    format: 'es',
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    minify: true,
    comments: false,
  });
  await bundler.close();
  const names: Record<string, string> = {
    app: output[0].fileName,
    style: write(target, 'style.css', styleOf(source)),
    icon: write(target, 'icon.svg', readFileSync(join(source, 'icon.svg'), 'utf8')),
  };
  const page = readFileSync(join(source, 'index.html'), 'utf8');
  writeFileSync(
    join(target, 'index.html'),
    page.replace(/\{(\w+)\}/g, (_, name: string) => names[name] ?? ''),
  );
  return output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}

/** One stylesheet of all files, in the order of their names; comments and indents go. */
const styleOf = (source: string): string =>
  globSync('style/*.css', { cwd: source })
    .sort()
    .map((path) => readFileSync(join(source, path), 'utf8'))
    .join('\n')
    .replace(/\/\*[^]*?\*\//g, '')
    .replace(/\n\s*/g, '\n')
    .trim();

/** Writes a file under a name with the hash of its content, and returns that name. */
function write(folder: string, name: string, content: string): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 8);
  const extension = extname(name);
  const named = `${name.slice(0, -extension.length)}-${hash}${extension}`;
  writeFileSync(join(folder, named), content);
  return named;
}
