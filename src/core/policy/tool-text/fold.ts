/**
 * Texts that look alike become equal, so that `RM`, `ｒｍ` and `r<zero width>m` do not pass a rule about `rm`.
 * Proven by `test/core/policy/tool-text/fold.test.ts`.
 */

/**
 * Returns the text in NFKC (Unicode UAX 15), without characters that show nothing, and without difference of case
 * (`ß` becomes `ss`). Letters of other scripts that only look alike, such as Cyrillic `а`, stay different.
 */
export function fold(text: string): string {
  const shown = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return shown.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}
