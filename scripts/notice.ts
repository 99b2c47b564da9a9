/**
 * The licence notice of the packages in a bundle: dist/NOTICE. Proven by `test/package.test.ts`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns one section for each package of `modules` (absolute paths), in order of name. */
export function notice(modules: Iterable<string>): string {
  const folders = new Set<string>();
  for (const module of modules) {
    const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module.replaceAll('\\', '/'))?.[0];
    if (folder !== undefined) folders.add(folder);
  }
  const sections = [...folders].map(section).sort();
  return ['This software contains the following packages.\n', ...sections].join(`\n${'-'.repeat(78)}\n\n`);
}

/** Throws for a package without a licence, because nobody may distribute it. */
function section(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version } = manifest;
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  // png-js names its licence only in the file
  const license = manifest.license ?? (text.startsWith('\nMIT License\n') ? 'MIT' : undefined);
  if (typeof license !== 'string')
    throw new Error(`${folder}: expected a licence in package.json, found none`);
  return `${name} ${version}, licence ${license}\n${text}`;
}
