/**
 * Compares a PDF with the one that its own data gives, object by object. Compressed content is compared after inflating:
 * another zlib may write other bytes. Proven by `test/core/reports/verify.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { contentOf, type PdfFile, type PdfObject } from './read-pdf.ts';

/** Returns what differs first, in words; null where nothing does. Throws PdfFault for damaged content. */
export function differenceOf(given: PdfFile, expected: PdfFile): string | null {
  if (given.trailer !== expected.trailer) return 'the trailer differs';
  if (given.objects.size !== expected.objects.size)
    return `expected ${expected.objects.size} objects, got ${given.objects.size}`;
  const different: number[] = [];
  for (const [id, object] of expected.objects) {
    const other = given.objects.get(id);
    if (other === undefined || !isSame(object, other)) different.push(id);
  }
  const [first] = different;
  if (first === undefined) return null;
  const page = pageOf(expected, new Set(different));
  return page === null ? `object ${first} differs` : `page ${page} differs`;
}

function isSame(one: PdfObject, other: PdfObject): boolean {
  if (one.text !== other.text || (one.stream === null) !== (other.stream === null)) return false;
  if (one.stream === null || other.stream === null || one.stream.equals(other.stream)) return true;
  return contentOf(one, limits.bundleBytes).equals(contentOf(other, limits.bundleBytes));
}

/** The first page of which the dictionary or the content is among these objects. */
function pageOf({ objects }: PdfFile, ids: ReadonlySet<number>): number | null {
  const pages = [...objects.values()].find(({ text }) => text.startsWith('<<\n/Type /Pages\n'));
  const kids = [...(/\/Kids \[([^\]]*)\]/.exec(pages?.text ?? '')?.[1] ?? '').matchAll(/(\d+) 0 R/g)];
  const at = kids.findIndex(([, id]) => {
    const page = Number(id);
    const content = Number(/\/Contents (\d+) 0 R/.exec(objects.get(page)?.text ?? '')?.[1] ?? 0);
    return ids.has(page) || ids.has(content);
  });
  return at === -1 ? null : at + 1;
}
