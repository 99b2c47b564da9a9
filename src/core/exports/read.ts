/**
 * Strict reader of the first and last line of an export: writing the parsed values must give the same text.
 * It verifies nothing. Proven by `test/core/exports/artifact.test.ts`.
 */
import { exportResources, type ExportResource } from '../../contract/exports.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  exportHead,
  hashesOf,
  tailLine,
  type ExportHead,
  type ExportProof,
  type ManifestOfRows,
  type ProvedLeaf,
} from './artifact.ts';
import { readFilterAnswer } from './answer.ts';
import { rowBounds } from './row.ts';
import { canonicalize, parseJson, type Json, type JsonObject } from '../json/parse.ts';
import { isCount } from '../count.ts';
import { isObject } from '../json/object.ts';

/** Returns the first line, with `filters` as an object; null if it is malformed. Attacker controlled. */
export function readHead(line: string): (ExportHead & { readonly asked: JsonObject }) | null {
  const value = parsed(`${line}]}`, tailBounds);
  const { resource, generatedAt, filters: asked } = value ?? {};
  if (!isObject(asked) || typeof generatedAt !== 'string' || !isResource(resource)) return null;
  const head = { resource, generatedAt, filters: canonicalize(asked) };
  return exportHead(head) === `${line}\n` ? { ...head, asked } : null;
}

const isResource = (value: Json | undefined): value is ExportResource =>
  exportResources.some((each) => each === value);

export interface ReadTail {
  readonly manifest: ManifestOfRows;
  readonly proof: ExportProof | undefined;
}

/** Returns the last line; null if it is malformed. Throws VALIDATION_ERROR for a malformed answer of the index. Attacker controlled. */
export function readTail(line: string): ReadTail | null {
  if (!line.startsWith('],')) return null;
  const value = parsed(`{${line.slice(2)}`, tailBounds);
  const manifest = value === null ? null : manifestOf(value['manifest']);
  if (value === null || manifest === null) return null;
  const proof = value['proof'] === undefined ? undefined : proofOf(value['proof']);
  if (proof === null || tailLine(manifest, proof) !== line) return null;
  return { manifest, proof };
}

function manifestOf(value: Json | undefined): ManifestOfRows | null {
  if (!isObject(value)) return null;
  const { treeSize, firstSequence, lastSequence, rowCount, prunedBelow } = value;
  const [rootHash] = pathOf([value['rootHash'] ?? null]) ?? [];
  const isOne =
    isCount(treeSize) &&
    isCount(rowCount) &&
    (firstSequence === null || isCount(firstSequence)) &&
    (lastSequence === null || isCount(lastSequence)) &&
    (prunedBelow === undefined || (isCount(prunedBelow) && prunedBelow > 0));
  return isOne && rootHash !== undefined
    ? { treeSize, rootHash, firstSequence, lastSequence, rowCount, prunedBelow }
    : null;
}

function proofOf(value: Json): ExportProof | null {
  if (!isObject(value)) return null;
  const { checkpoint } = value;
  const consistency = pathOf(value['consistency']);
  const gap = pathOf(value['gap']);
  const created = leafOf(value['created']);
  const disclosures = isObject(value['created']) ? value['created']['disclosures'] : undefined;
  const erasures = leavesOf(value['erasures']);
  const withdrawn = leavesOf(value['withdrawn'] ?? []);
  if (typeof checkpoint !== 'string' || typeof disclosures !== 'string') return null;
  if (consistency === null || gap === null || created === null) return null;
  if (erasures === null || withdrawn === null) return null;
  const answer = value['completeness'];
  return {
    checkpoint,
    consistency,
    created: { ...created, disclosures },
    erasures,
    withdrawn,
    gap,
    ...(answer === undefined ? {} : { completeness: readFilterAnswer(answer) }),
  };
}

function leavesOf(value: Json | undefined): ProvedLeaf[] | null {
  if (!Array.isArray(value)) return null;
  const leaves = value.flatMap((each) => leafOf(each) ?? []);
  return leaves.length === value.length ? leaves : null;
}

function leafOf(value: Json | undefined): ProvedLeaf | null {
  if (!isObject(value)) return null;
  const { index, record } = value;
  const inclusion = pathOf(value['inclusion']);
  return isCount(index) && typeof record === 'string' && inclusion !== null
    ? { index, record, inclusion }
    : null;
}

/** Most hashes of a path, or of the subtrees of a gap, in a tree of at most 2^53 leaves. */
const longestPath = 106;

function pathOf(value: Json | undefined): Buffer[] | null {
  const isTexts = Array.isArray(value) && value.every((hash) => typeof hash === 'string');
  return isTexts && value.length <= longestPath ? hashesOf(value as string[]) : null;
}

/** The values of an entry of the index: at most 256 siblings, two paths, and what else it has. */
const entryValues = 256 + 3 * longestPath;

/** Limits of the last line: erasures and the leaves that they name, each with a path; and an answer of the index. */
const tailBounds: Record<keyof typeof rowBounds, number> = {
  ...rowBounds,
  values:
    2 * limits.bundleErasures * (longestPath + 4) + limits.exportLists * entryValues + limits.exportOthers,
};

function parsed(text: string, bounds: typeof tailBounds): JsonObject | null {
  try {
    const value = parseJson(Buffer.from(text), bounds);
    return isObject(value) ? value : null;
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}
