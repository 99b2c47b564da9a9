/**
 * The numbers of a project's two trees in the tables.
 * Proven by `test/store/suite/log/append.ts`.
 */
import type { TreeName } from '../port/store.ts';

export const treeNumber = (tree: TreeName): number => (tree === 'audit' ? 0 : 1);

/** The table with a tree's records. */
export const recordTable = (tree: TreeName): 'leaf' | 'meter' => (tree === 'audit' ? 'leaf' : 'meter');
