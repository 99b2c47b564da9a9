/**
 * Receipts of programs without a spool (hooks, `gov run`, the MCP proxy), which many processes append to one folder:
 *
 *   answers.ndjson    one JSON object a line: receipt, results
 *   answers.1.ndjson  the older ones
 *
 * A file that has `limits.heldBytes` / 2 becomes the older one, so both have at most `limits.heldBytes`. Nothing here delays
 * or breaks a call: no fsync, and a failed write loses that receipt only. A crash leaves at most one torn line, which readers
 * skip. Two processes that rename at one moment can lose the older file. Tested by `test/client/receipts/kept-answers.test.ts`.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { isObject } from '../../core/json/object.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { ReceiptedAnswer } from '../receipts/receipted.ts';

const newest = 'answers.ndjson';
const older = 'answers.1.ndjson';

/** Keeps an answer. Never throws: a program without room for a receipt works as before. */
export function keepAnswer(folder: string, { receipt, results }: ReceiptedAnswer): void {
  // the line break in front ends a torn line
  const line = `\n${JSON.stringify({ receipt, results })}\n`;
  const path = join(folder, newest);
  try {
    makeFolder(folder, 0o700);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size + Buffer.byteLength(line) > limits.heldBytes / 2) renameSync(path, join(folder, older));
    appendFileSync(path, line, { mode: 0o600 });
  } catch {
    // the answer itself is good
  }
}

/** The kept answers, the oldest first. Throws the system's error. */
export function keptAnswers(folder: string): ReceiptedAnswer[] {
  const paths = [older, newest].map((name) => join(folder, name)).filter((path) => existsSync(path));
  return paths
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .flatMap((line) => readAnswer(line) ?? []);
}

function readAnswer(line: string): ReceiptedAnswer | null {
  try {
    const value: unknown = JSON.parse(line);
    if (!isObject(value)) return null;
    const { receipt, results } = value;
    if (typeof receipt !== 'string' || !Array.isArray(results)) return null;
    return { receipt, results: results.flatMap((each) => readResult(each) ?? []) };
  } catch {
    return null;
  }
}

function readResult(value: unknown): ReceiptedAnswer['results'][number] | null {
  if (!isObject(value)) return null;
  const { eventId, leafHash } = value;
  if (typeof eventId !== 'string' || typeof leafHash !== 'string') return null;
  return { eventId, leafHash, status: 'accepted' };
}
