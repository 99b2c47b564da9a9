/** Which rows of a long list a browser has to draw. Tested by `test/console/parts/rows-shown.test.ts`. */

interface View {
  readonly count: number;
  readonly rowHeight: number;
  /** Of the list below its frame, in CSS pixels. */
  readonly scrollTop: number;
  readonly height: number;
}

/** Rows above and below the view, so that a fast scroll shows no gap. */
const spare = 8;

/** The first row, and the one after the last. */
export function rowsShown({
  count,
  rowHeight,
  scrollTop,
  height,
}: View): readonly [first: number, end: number] {
  const top = Math.max(0, scrollTop);
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight)) - spare);
  const end = Math.min(count, Math.ceil((top + Math.max(0, height)) / rowHeight) + spare);
  return [Math.min(first, end), end];
}
