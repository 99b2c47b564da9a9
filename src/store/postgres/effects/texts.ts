/**
 * Encodes texts that people wrote for columns: PostgreSQL's text has no U+0000, JSON strings may. Names,
 * reasons and comments are stored with `\0` for it and `\\` for a backslash. Texts that are JSON, patterns or
 * hashes need no encoding.
 * Source: PostgreSQL 18, chapter 8.3 (character types).
 * Proven by `test/store/suite/log/texts.ts`.
 */
export const kept = (text: string): string =>
  /[\0\\]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') : text;

export const read = (text: string): string =>
  text.includes('\\')
    ? text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === '0' ? '\0' : escaped))
    : text;

export const readOrNull = (text: string | null): string | null => (text === null ? null : read(text));
