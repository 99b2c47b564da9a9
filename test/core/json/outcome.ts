/** What the tests of strict JSON share: parsing a text, and how it ends as one line. */
import { expect } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { parseJson } from '../../../src/core/json/parse.ts';
import type { Json, JsonBounds } from '../../../src/core/json/parse.ts';

export const parse = (text: string, bounds?: JsonBounds): Json => parseJson(Buffer.from(text), bounds);

/** How parsing ends: `accepted`, or the problem as `CODE at offset: detail`. */
export function outcome(input: string | Uint8Array, bounds?: JsonBounds): string {
  try {
    parseJson(typeof input === 'string' ? Buffer.from(input) : input, bounds);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    expect(error.status).toBe(400);
    expect(error.message).toMatch(/^expected .+, got .+ at byte [0-9]+$/);
    expect(error.message).toContain(`at byte ${String(error.extensions['offset'])}`);
    return `${error.code} at ${String(error.extensions['offset'])}: ${error.message}`;
  }
}
