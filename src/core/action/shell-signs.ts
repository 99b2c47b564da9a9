/** Operators and reserved words of a shell. Proven by `test/core/action/shell.test.ts`. */
export const operators = [
  '&&',
  '||',
  ';;',
  '|&',
  '&>>',
  '&>',
  '<<-',
  '<<<',
  '<<',
  '>>',
  '<&',
  '>&',
  '<>',
  '>|',
  ...';&|<>()\n',
];
export const redirections = new Set([
  '<',
  '>',
  '>>',
  '<<',
  '<<-',
  '<<<',
  '<&',
  '>&',
  '<>',
  '>|',
  '&>',
  '&>>',
]);
/** Before a command; the next word is a command again. */
export const leading = new Set(['!', 'if', 'then', 'elif', 'else', 'while', 'until', 'do', '{']);
export const closing = new Set(['fi', 'done', '}', 'esac']);
export const notRead = new Set(['case', 'function', 'select', 'coproc']);
/** Whether the command after the operator belongs to the same chain. */
export const isJoining = (operator: string): boolean =>
  operator === '&&' || operator === '|' || operator === '|&';
