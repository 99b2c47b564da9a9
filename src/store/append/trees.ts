/** How the two trees of a project are numbered in the tables. */
import type { TreeName } from '../port/store.ts';

export const treeNumber = (tree: TreeName): number => (tree === 'audit' ? 0 : 1);

/** The table that holds a tree's records. */
export const recordTable = (tree: TreeName): 'leaf' | 'meter' => (tree === 'audit' ? 'leaf' : 'meter');
