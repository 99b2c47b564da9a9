/**
 * Texts that people wrote, as columns hold them: PostgreSQL's text has no U+0000, JSON strings may. Names, reasons and
 * comments are kept with `\0` for it and `\\` for a backslash; texts that are JSON, patterns or hashes need none of
 * this. Proven by `test/store/suite/log/texts.ts`.
 */
export const kept = (text: string): string =>
  /[\0\\]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') : text;

export const read = (text: string): string =>
  text.includes('\\')
    ? text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === '0' ? '\0' : escaped))
    : text;

export const keptOrNull = (text: string | null): string | null => (text === null ? null : kept(text));
export const readOrNull = (text: string | null): string | null => (text === null ? null : read(text));
