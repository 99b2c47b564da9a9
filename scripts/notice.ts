/**
 * The licence notice of the packages in a bundle: dist/NOTICE. Tested by `test/package.test.ts`.
 *
 * A section has every licence and notice file of its package, also those of a codec that the package contains, and the
 * copyright comments of its bundled files that name somebody else. For a package without such a file, `licences/` beside
 * this file has the text: `MIT.txt`, or `<name>.txt` with `+` for `/`. Last come works that are in no bundle.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { inPackages } from './sbom.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name: string };
}

const ownTexts = join(import.meta.dirname, 'licences');

/** libjpeg-turbo, in a decoder, asks for this sentence (IJG licence, clause 2). */
const preface = `This software contains the following packages.
It is based in part on the work of the Independent JPEG Group.
`;

const typebox = join(import.meta.dirname, '../node_modules/typebox');
const { version: typeboxVersion }: Manifest = JSON.parse(readFileSync(join(typebox, 'package.json'), 'utf8'));

/** Works that are in no bundle, with the files of their licences. The archive brings the package jq-web. */
const works = [
  [`The declarations of typebox ${typeboxVersion}, in types/typebox/`, join(typebox, 'license')],
  ['Words of phrases, from @scure/bip39 2.4.0, licence MIT', join(ownTexts, 'bip39-words.txt')],
  ['Noto Sans and Noto Sans Mono, in fonts/', join(import.meta.dirname, '../assets/fonts/OFL.txt')],
  ['The colour profile sRGB2014, in data/', join(ownTexts, 'sRGB2014.txt')],
  ['jq 1.7.1 with decNumber, in the package jq-web', join(ownTexts, 'jq.txt')],
  ['Oniguruma, in jq of the package jq-web', join(ownTexts, 'oniguruma.txt')],
] as const;

/** Returns one section for each package of `modules` (absolute paths), in order of name, and those of `works`. */
export function notice(modules: Iterable<string>): string {
  const folders = new Map<string, string[]>();
  for (const module of modules) {
    const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module.replaceAll('\\', '/'))?.[0];
    if (folder !== undefined) folders.set(folder, [...(folders.get(folder) ?? []), module]);
  }
  const sections = [...folders].map(([folder, files]) => section(folder, files)).sort();
  const others = works.map(([what, path]) => `${what}\n\n${readFileSync(path, 'utf8').trim()}\n`);
  return [preface, ...sections, ...others].join(`\n${'-'.repeat(78)}\n\n`);
}

/** Throws for a package without the name or the text of a licence, because nobody may distribute it. */
function section(folder: string, modules: readonly string[]): string {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = shipped(folder);
  const isLicensed = files.some((path) => !/notice/i.test(basename(path)));
  const own = isLicensed ? '' : added(manifest);
  const text = [own, ...files.map((path) => readFileSync(path, 'utf8').trim())].join('\n\n').trim();
  if (!isLicensed && own === '')
    throw new Error(
      `expected the text of a licence of ${manifest.name} in ${folder}, found none; write it to scripts/licences/${fileName(manifest)}`,
    );
  // png-js names its licence only in the file
  const license = manifest.license ?? (text.startsWith('MIT License\n') ? 'MIT' : undefined);
  if (typeof license !== 'string' || license === '' || license === 'UNLICENSED')
    throw new Error(`expected a licence in ${join(folder, 'package.json')}, found ${license || 'none'}`);
  const others = foreign(modules, text);
  if (others.size > 0 && inPackages[manifest.name] === undefined)
    throw new Error(`expected in scripts/sbom.ts whose work ${manifest.name} contains: ${[...others][0]}`);
  const all = [text, ...others].join('\n\n');
  return `${manifest.name} ${manifest.version}, licence ${license}\n\n${all}\n`;
}

/** Comments of the files with a copyright that `text` does not name: parts of other authors, under terms of their own. */
function foreign(modules: readonly string[], text: string): Set<string> {
  const named = new Set(wordsOf(text));
  const isNamed = (line: string): boolean => wordsOf(line).every((word) => named.has(word));
  const comments = modules
    .filter((path) => /\.[cm]?js$/.test(path) && existsSync(path))
    .toSorted()
    .flatMap((path) => readFileSync(path, 'utf8').match(/\/\*[^]*?\*\/|(?:^[ \t]*\/\/.*\n)+/gm) ?? [])
    .filter((comment) => (comment.match(/^.*\bcopyright\b.*$/gim) ?? []).some((line) => !isNamed(line)));
  return new Set(comments.map((comment) => comment.trim()));
}

/** The words of a copyright line that name its holder. */
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/\p{L}{2,}/gu) ?? []).filter((word) => !generic.has(word));
const generic = new Set(['copyright', 'all', 'rights', 'reserved', 'the', 'and']);

/** The licence and notice files that `folder` has, without those of packages inside it. */
function shipped(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.slice(folder.length).includes('node_modules'))
    .filter(({ name }) => /^(?:licen[cs]e|notice|copying)(?:[-.]\w+)*?(?:\.md|\.txt)?$/i.test(name))
    .filter(({ name }) => !/\.(?:[cm]?[jt]sx?|json|map)$/.test(name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** The text for a package that names a licence and ships no text of it. */
function added(manifest: Manifest): string {
  const own = join(ownTexts, fileName(manifest));
  if (existsSync(own)) return readFileSync(own, 'utf8').trim();
  const author = typeof manifest.author === 'object' ? manifest.author.name : manifest.author;
  if (manifest.license !== 'MIT' || author === undefined) return '';
  const holder = author.replace(/ *<.*/, '');
  return `Copyright (c) ${holder}\n\n${readFileSync(join(ownTexts, 'MIT.txt'), 'utf8').trim()}`;
}

const fileName = ({ name }: Manifest): string => `${name.replaceAll('/', '+')}.txt`;
