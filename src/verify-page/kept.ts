/**
 * The signed states of logs that this browser has seen, in its local storage where it allows that; else for as long as the
 * page is open. Tested in a browser by `test/verify-page/browser.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import { type HeadsFile, headsText, readHeads } from '../core/evidence/heads-file.ts';
import type { SignedHead } from '../core/note/heads.ts';
import type { Trust } from '../core/note/trust.ts';

/** Where the local storage takes nothing. */
const texts = new Map<string, string>();

const nameOf = ({ origin }: Trust): string => `gov heads ${origin}`;

/** A file that other software has changed counts as none. */
function keptFile(trust: Trust): HeadsFile {
  const none = { heads: [], untrusted: [] };
  const text = stored(nameOf(trust));
  if (text === null) return none;
  try {
    return readHeads(new TextEncoder().encode(text), trust);
  } catch (error) {
    if (error instanceof GovError) return none;
    throw error;
  }
}

export const keptHeads = (trust: Trust): SignedHead[] => [...keptFile(trust).heads];

/** Keeps the largest heads, and those by keys that are not trusted now. */
export function keep(trust: Trust, heads: readonly SignedHead[]): void {
  const byNote = new Map(heads.map((head) => [`${head.size} ${head.note.slice(0, 512)}`, head]));
  const largest = [...byNote.values()]
    .toSorted((one, other) => other.size - one.size)
    .slice(0, limits.keptHeads);
  const text = headsText(trust.origin, { heads: largest, untrusted: keptFile(trust).untrusted });
  try {
    localStorage.setItem(nameOf(trust), text);
  } catch {
    texts.set(nameOf(trust), text);
  }
}

function stored(name: string): string | null {
  try {
    return texts.get(name) ?? localStorage.getItem(name);
  } catch {
    return texts.get(name) ?? null;
  }
}
