/** `--fail-on`: from which word of an ordered list on the answer counts as no. */

/** Whether `value` is one of `failOn` or a stricter word; `order` goes from the mildest to the strictest. */
export function failsOn<Word extends string>(
  failOn: readonly string[],
  value: Word,
  order: readonly Word[],
): boolean {
  const ranks = failOn.map((word) => (order as readonly string[]).indexOf(word));
  return ranks.length > 0 && order.indexOf(value) >= Math.min(...ranks);
}
