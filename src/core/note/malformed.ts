/** The error for a text that is not in its format. Proven by the tests of each format. */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';

/** Returns the maker of VALIDATION_ERROR for a format, such as `checkpoint: expected a final newline, got "…"`. */
export const malformedAs =
  (format: string) =>
  (expected: string, got: string): GovError =>
    new GovError(
      'VALIDATION_ERROR',
      `${format}: expected ${expected}, got ${JSON.stringify(got.slice(0, limits.echoChars))}`,
    );
