/** The commands of a noun, and all commands. Tested by `test/cli/program/manifest.test.ts`. */
import type { CommandSpec } from '../program/spec.ts';
import { specsByNoun } from './by-noun.ts';
import { nouns } from './nouns.ts';

export const specsOf = (noun: string): readonly CommandSpec[] => specsByNoun[noun] ?? [];

export const allSpecs = (): readonly CommandSpec[] => nouns.flatMap(([, noun]) => specsOf(noun));
