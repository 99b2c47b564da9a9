/** What a cell of an export held before it was written, by the rule of docs/reference/export-format.md; shares nothing with who writes. */

const passed = /^(?:['"]|(?![;\t|\r\n\0])[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800])*/u;

/** Whether a spreadsheet takes the field for a formula: what it shows first begins one. */
export const isFormula = (field: string): boolean =>
  /^[=+\-@\0＝＋－＠﹦﹢﹣﹫]/.test(
    field.replace(/^(?:"|(?!\0)[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800])*/u, ''),
  );

const beginsFormula = (text: string): boolean => /^[=+\-@\0＝＋－＠﹦﹢﹣﹫]/.test(text.replace(passed, ''));

export const unmarked = (cell: string): string =>
  cell
    .split(/(?<=[;\t|\r\n])/)
    .map((part, at) => {
      const rest = part.slice(1);
      const isMarked = beginsFormula(rest) || (at === 0 && /^[\t\r\n]/.test(rest.replace(passed, '')));
      return part.startsWith("'") && isMarked ? rest : part;
    })
    .join('');
