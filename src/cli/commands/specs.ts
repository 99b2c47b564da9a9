/** The commands under a noun, and all of them. */
import type { CommandSpec } from '../program/command.ts';
import { specsByNoun } from './by-noun.ts';
import { nouns } from './nouns.ts';

export const specsOf = (noun: string): readonly CommandSpec[] => specsByNoun[noun] ?? [];

export const allSpecs = (): readonly CommandSpec[] => nouns.flatMap(([, noun]) => specsOf(noun));
