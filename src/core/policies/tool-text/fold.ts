/**
 * Texts that look alike become equal, so that `RM`, `ｒｍ` and `r<zero width>m` do not pass a rule about `rm`.
 * Proven by `test/core/policies/tool-text/fold.test.ts`.
 */

/**
 * Returns the text in NFKC (Unicode UAX 15), without characters that show nothing, and without difference of case
 * (`ß` becomes `ss`). Letters of other scripts that only look alike, such as Cyrillic `а`, stay different.
 */
export function fold(text: string): string {
  const shown = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return shown.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}

/**
 * Returns `fold` of the text without everything that an eye may overlook: marks on letters (`İ` becomes `i`), characters
 * that show nothing, and blanks at the ends. `fold` itself stays as it is, because recorded decisions are recomputed with it.
 */
export function bare(text: string): string {
  const letters = fold(text).normalize('NFKD').replace(/\p{M}/gu, '');
  return fold(letters.replace(hidden, (character) => (/[\s\p{Z}]/u.test(character) ? ' ' : ''))).trim();
}

const hidden = /[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Co}\p{Cn}\p{Z}\u2800\u{1d159}]--[ ]]/gv;
