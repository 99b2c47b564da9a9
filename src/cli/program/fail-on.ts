/**
 * `--fail-on`: the first word of an ordered list that makes the command exit with 3.
 * Tested by `test/cli/commands/policy/change.test.ts`.
 */

/** Returns whether `value` is one of `failOn` or stricter. `order` runs from the mildest word to the strictest. */
export function failsOn<Word extends string>(
  failOn: readonly string[],
  value: Word,
  order: readonly Word[],
): boolean {
  const ranks = failOn.map((word) => (order as readonly string[]).indexOf(word));
  return ranks.length > 0 && order.indexOf(value) >= Math.min(...ranks);
}
