/**
 * Builds the verify page, `src/verify-page/`, into dist/verify.html: one file with its style and its script inside. Its
 * policy names the hash of each, so nothing else can run, and nothing can be sent. Tested by
 * `test/verify-page/browser.test.ts`.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { frozenData } from './frozen.ts';
import { webBuild } from './library.ts';
import { failOnWarnings } from './warnings.ts';

/** Writes the page to `folder`/verify.html. Returns the paths of all its modules. */
export async function buildVerifyPage(project: string, folder: string): Promise<string[]> {
  const source = join(project, 'src/verify-page');
  const { plugins, options } = webBuild(project);
  const bundler = await rolldown({
    cwd: project,
    input: join(source, 'main.ts'),
    ...options,
    plugins: [...plugins, await frozenData(project, { beside: false })],
    ...failOnWarnings('verify page'),
  });
  const { output } = await bundler.generate({ format: 'iife', minify: true, comments: false });
  await bundler.close();
  const [code] = output;
  // HTML would end the script at this tag wherever it is, and reads another character for NUL
  const escaped = code.code.replaceAll('</script', '<\\/script').replaceAll('\0', '\\x00');
  const script = `\n${escaped.trim()}\n`;
  const style = `\n${withoutIndent(readFileSync(join(source, 'style.css'), 'utf8')).trim()}\n`;
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string };
  const page = withoutIndent(readFileSync(join(source, 'page.html'), 'utf8'))
    .replace('{version}', version)
    .replace('{policy}', policyOf({ script, style }))
    .replace('<link rel="stylesheet" href="style.css" />', () => `<style>${style}</style>`)
    .replace('<script src="main.ts"></script>', () => `<script>${script}</script>`);
  writeFileSync(join(folder, 'verify.html'), page);
  return output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}

/** Without the indent of lines, which a style and a page without preformatted text do not need. */
const withoutIndent = (text: string): string => text.replaceAll(/^ +/gm, '');

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const policyOf = ({ script, style }: { readonly script: string; readonly style: string }): string =>
  [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
